module @jit_mlp_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
  func.func public @main(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>, tf.aliasing_output = 1 : i32}, %arg1: tensor<64xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>, tf.aliasing_output = 2 : i32}, %arg2: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>, tf.aliasing_output = 3 : i32}, %arg3: tensor<64xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>, tf.aliasing_output = 4 : i32}, %arg4: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>, tf.aliasing_output = 5 : i32}, %arg5: tensor<64xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>, tf.aliasing_output = 6 : i32}, %arg6: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>}, %arg7: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>}) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<64x64xf32> {jax.result_info = "result[1][0][0]"}, tensor<64xf32> {jax.result_info = "result[1][0][1]"}, tensor<64x64xf32> {jax.result_info = "result[1][1][0]"}, tensor<64xf32> {jax.result_info = "result[1][1][1]"}, tensor<64x64xf32> {jax.result_info = "result[1][2][0]"}, tensor<64xf32> {jax.result_info = "result[1][2][1]"}) {
    %_0 = stablehlo.dot_general %arg6, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %_1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %_2 = stablehlo.broadcast_in_dim %_1, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %_3 = stablehlo.add %_0, %_2 : tensor<32x64xf32>
    %_4 = stablehlo.multiply %_3, %_3 : tensor<32x64xf32>
    %_5 = stablehlo.multiply %_4, %_3 : tensor<32x64xf32>
    %_6 = stablehlo.multiply %_3, %_3 : tensor<32x64xf32>
    %cst = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %_7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_8 = stablehlo.multiply %_7, %_6 : tensor<32x64xf32>
    %cst_0 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %_9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_10 = stablehlo.multiply %_9, %_5 : tensor<32x64xf32>
    %_11 = stablehlo.add %_3, %_10 : tensor<32x64xf32>
    %cst_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %_12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_13 = stablehlo.multiply %_12, %_11 : tensor<32x64xf32>
    %_14 = stablehlo.tanh %_13 : tensor<32x64xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_15 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_16 = stablehlo.subtract %_15, %_14 : tensor<32x64xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_17 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_18 = stablehlo.add %_17, %_14 : tensor<32x64xf32>
    %cst_4 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %_19 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_20 = stablehlo.multiply %_19, %_18 : tensor<32x64xf32>
    %_21 = stablehlo.multiply %_3, %_20 : tensor<32x64xf32>
    %_22 = stablehlo.dot_general %_21, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %_23 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %_24 = stablehlo.broadcast_in_dim %_23, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %_25 = stablehlo.add %_22, %_24 : tensor<32x64xf32>
    %_26 = stablehlo.multiply %_25, %_25 : tensor<32x64xf32>
    %_27 = stablehlo.multiply %_26, %_25 : tensor<32x64xf32>
    %_28 = stablehlo.multiply %_25, %_25 : tensor<32x64xf32>
    %cst_5 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %_29 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_30 = stablehlo.multiply %_29, %_28 : tensor<32x64xf32>
    %cst_6 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %_31 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_32 = stablehlo.multiply %_31, %_27 : tensor<32x64xf32>
    %_33 = stablehlo.add %_25, %_32 : tensor<32x64xf32>
    %cst_7 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %_34 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_35 = stablehlo.multiply %_34, %_33 : tensor<32x64xf32>
    %_36 = stablehlo.tanh %_35 : tensor<32x64xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_37 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_38 = stablehlo.subtract %_37, %_36 : tensor<32x64xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_39 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_40 = stablehlo.add %_39, %_36 : tensor<32x64xf32>
    %cst_10 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %_41 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_42 = stablehlo.multiply %_41, %_40 : tensor<32x64xf32>
    %_43 = stablehlo.multiply %_25, %_42 : tensor<32x64xf32>
    %_44 = stablehlo.dot_general %_43, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %_45 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %_46 = stablehlo.broadcast_in_dim %_45, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %_47 = stablehlo.add %_44, %_46 : tensor<32x64xf32>
    %_48 = stablehlo.multiply %_47, %_47 : tensor<32x64xf32>
    %_49 = stablehlo.multiply %_48, %_47 : tensor<32x64xf32>
    %_50 = stablehlo.multiply %_47, %_47 : tensor<32x64xf32>
    %cst_11 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %_51 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_52 = stablehlo.multiply %_51, %_50 : tensor<32x64xf32>
    %cst_12 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %_53 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_54 = stablehlo.multiply %_53, %_49 : tensor<32x64xf32>
    %_55 = stablehlo.add %_47, %_54 : tensor<32x64xf32>
    %cst_13 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %_56 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_57 = stablehlo.multiply %_56, %_55 : tensor<32x64xf32>
    %_58 = stablehlo.tanh %_57 : tensor<32x64xf32>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_59 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_60 = stablehlo.subtract %_59, %_58 : tensor<32x64xf32>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_61 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_62 = stablehlo.add %_61, %_58 : tensor<32x64xf32>
    %cst_16 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %_63 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_64 = stablehlo.multiply %_63, %_62 : tensor<32x64xf32>
    %_65 = stablehlo.multiply %_47, %_64 : tensor<32x64xf32>
    %_66 = stablehlo.subtract %_65, %arg7 : tensor<32x64xf32>
    %_67 = stablehlo.multiply %_66, %_66 : tensor<32x64xf32>
    %cst_17 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %_68 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_69 = stablehlo.multiply %_68, %_66 : tensor<32x64xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %_70 = stablehlo.reduce(%_67 init: %cst_18) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<f32>
    %cst_19 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %_71 = stablehlo.divide %_70, %cst_19 : tensor<f32>
    %cst_20 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_21 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %_72 = stablehlo.divide %cst_20, %cst_21 : tensor<f32>
    %_73 = stablehlo.broadcast_in_dim %_72, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_74 = stablehlo.multiply %_73, %_69 : tensor<32x64xf32>
    %_75 = stablehlo.multiply %_47, %_74 : tensor<32x64xf32>
    %_76 = stablehlo.multiply %_74, %_64 : tensor<32x64xf32>
    %cst_22 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %_77 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_78 = stablehlo.multiply %_77, %_75 : tensor<32x64xf32>
    %_79 = stablehlo.multiply %_78, %_60 : tensor<32x64xf32>
    %_80 = stablehlo.multiply %_79, %_58 : tensor<32x64xf32>
    %_81 = stablehlo.add %_79, %_80 : tensor<32x64xf32>
    %cst_23 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %_82 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_83 = stablehlo.multiply %_82, %_81 : tensor<32x64xf32>
    %_84 = stablehlo.add %_76, %_83 : tensor<32x64xf32>
    %cst_24 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %_85 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_86 = stablehlo.multiply %_85, %_83 : tensor<32x64xf32>
    %_87 = stablehlo.multiply %_86, %_52 : tensor<32x64xf32>
    %_88 = stablehlo.add %_84, %_87 : tensor<32x64xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %_89 = stablehlo.reduce(%_88 init: %cst_25) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %_90 = stablehlo.reshape %_89 : (tensor<64xf32>) -> tensor<1x64xf32>
    %cst_26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %_91 = stablehlo.reduce(%_90 init: %cst_26) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %_92 = stablehlo.dot_general %_88, %_43, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %_93 = stablehlo.transpose %_92, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %_94 = stablehlo.dot_general %_88, %arg4, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %_95 = stablehlo.multiply %_25, %_94 : tensor<32x64xf32>
    %_96 = stablehlo.multiply %_94, %_42 : tensor<32x64xf32>
    %cst_27 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %_97 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_98 = stablehlo.multiply %_97, %_95 : tensor<32x64xf32>
    %_99 = stablehlo.multiply %_98, %_38 : tensor<32x64xf32>
    %_100 = stablehlo.multiply %_99, %_36 : tensor<32x64xf32>
    %_101 = stablehlo.add %_99, %_100 : tensor<32x64xf32>
    %cst_28 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %_102 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_103 = stablehlo.multiply %_102, %_101 : tensor<32x64xf32>
    %_104 = stablehlo.add %_96, %_103 : tensor<32x64xf32>
    %cst_29 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %_105 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_106 = stablehlo.multiply %_105, %_103 : tensor<32x64xf32>
    %_107 = stablehlo.multiply %_106, %_30 : tensor<32x64xf32>
    %_108 = stablehlo.add %_104, %_107 : tensor<32x64xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %_109 = stablehlo.reduce(%_108 init: %cst_30) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %_110 = stablehlo.reshape %_109 : (tensor<64xf32>) -> tensor<1x64xf32>
    %cst_31 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %_111 = stablehlo.reduce(%_110 init: %cst_31) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %_112 = stablehlo.dot_general %_108, %_21, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %_113 = stablehlo.transpose %_112, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %_114 = stablehlo.dot_general %_108, %arg2, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %_115 = stablehlo.multiply %_3, %_114 : tensor<32x64xf32>
    %_116 = stablehlo.multiply %_114, %_20 : tensor<32x64xf32>
    %cst_32 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %_117 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_118 = stablehlo.multiply %_117, %_115 : tensor<32x64xf32>
    %_119 = stablehlo.multiply %_118, %_16 : tensor<32x64xf32>
    %_120 = stablehlo.multiply %_119, %_14 : tensor<32x64xf32>
    %_121 = stablehlo.add %_119, %_120 : tensor<32x64xf32>
    %cst_33 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %_122 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_123 = stablehlo.multiply %_122, %_121 : tensor<32x64xf32>
    %_124 = stablehlo.add %_116, %_123 : tensor<32x64xf32>
    %cst_34 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %_125 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %_126 = stablehlo.multiply %_125, %_123 : tensor<32x64xf32>
    %_127 = stablehlo.multiply %_126, %_8 : tensor<32x64xf32>
    %_128 = stablehlo.add %_124, %_127 : tensor<32x64xf32>
    %cst_35 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %_129 = stablehlo.reduce(%_128 init: %cst_35) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %_130 = stablehlo.reshape %_129 : (tensor<64xf32>) -> tensor<1x64xf32>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %_131 = stablehlo.reduce(%_130 init: %cst_36) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %_132 = stablehlo.dot_general %_128, %arg6, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %_133 = stablehlo.transpose %_132, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %cst_37 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %_134 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %_135 = stablehlo.multiply %_134, %_133 : tensor<64x64xf32>
    %_136 = stablehlo.subtract %arg0, %_135 : tensor<64x64xf32>
    %cst_38 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %_137 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %_138 = stablehlo.multiply %_137, %_131 : tensor<64xf32>
    %_139 = stablehlo.subtract %arg1, %_138 : tensor<64xf32>
    %cst_39 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %_140 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %_141 = stablehlo.multiply %_140, %_113 : tensor<64x64xf32>
    %_142 = stablehlo.subtract %arg2, %_141 : tensor<64x64xf32>
    %cst_40 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %_143 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %_144 = stablehlo.multiply %_143, %_111 : tensor<64xf32>
    %_145 = stablehlo.subtract %arg3, %_144 : tensor<64xf32>
    %cst_41 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %_146 = stablehlo.broadcast_in_dim %cst_41, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %_147 = stablehlo.multiply %_146, %_93 : tensor<64x64xf32>
    %_148 = stablehlo.subtract %arg4, %_147 : tensor<64x64xf32>
    %cst_42 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %_149 = stablehlo.broadcast_in_dim %cst_42, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %_150 = stablehlo.multiply %_149, %_91 : tensor<64xf32>
    %_151 = stablehlo.subtract %arg5, %_150 : tensor<64xf32>
    return %_71, %_136, %_139, %_142, %_145, %_148, %_151 : tensor<f32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>
  }
}
