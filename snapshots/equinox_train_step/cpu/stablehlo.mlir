module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x32xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<64xf32> {tf.aliasing_output = 2 : i32}, %arg2: tensor<8x64xf32> {tf.aliasing_output = 3 : i32}, %arg3: tensor<8xf32> {tf.aliasing_output = 4 : i32}, %arg4: tensor<i32> {tf.aliasing_output = 0 : i32}, %arg5: tensor<64x32xf32> {tf.aliasing_output = 6 : i32}, %arg6: tensor<64xf32> {tf.aliasing_output = 7 : i32}, %arg7: tensor<8x64xf32> {tf.aliasing_output = 8 : i32}, %arg8: tensor<8xf32> {tf.aliasing_output = 9 : i32}, %arg9: tensor<64x32xf32> {tf.aliasing_output = 10 : i32}, %arg10: tensor<64xf32> {tf.aliasing_output = 11 : i32}, %arg11: tensor<8x64xf32> {tf.aliasing_output = 12 : i32}, %arg12: tensor<8xf32> {tf.aliasing_output = 13 : i32}, %arg13: tensor<16x32xf32>, %arg14: tensor<16xi32>) -> (tensor<i32>, tensor<64x32xf32>, tensor<64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<i32>, tensor<64x32xf32>, tensor<64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<64x32xf32>, tensor<64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<f32>) {
    %dot_general_a8cd = stablehlo.dot_general %arg0, %arg13, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x32xf32>, tensor<16x32xf32>) -> tensor<64x16xf32>
    %transpose_97d0 = stablehlo.transpose %dot_general_a8cd, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>
    %broadcast_in_dim_74c2 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %broadcast_in_dim_f55e = stablehlo.broadcast_in_dim %broadcast_in_dim_74c2, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<16x64xf32>
    %add_6854 = stablehlo.add %transpose_97d0, %broadcast_in_dim_f55e : tensor<16x64xf32>
    %multiply_69d4 = stablehlo.multiply %add_6854, %add_6854 : tensor<16x64xf32>
    %multiply_a269 = stablehlo.multiply %multiply_69d4, %add_6854 : tensor<16x64xf32>
    %multiply_7bc2 = stablehlo.multiply %add_6854, %add_6854 : tensor<16x64xf32>
    %c_3 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %broadcast_in_dim_3119 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_908a = stablehlo.multiply %broadcast_in_dim_3119, %multiply_7bc2 : tensor<16x64xf32>
    %c_0.044715_86b8 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_60d8 = stablehlo.broadcast_in_dim %c_0.044715_86b8, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_4060 = stablehlo.multiply %broadcast_in_dim_60d8, %multiply_a269 : tensor<16x64xf32>
    %add_b1b0 = stablehlo.add %add_6854, %multiply_4060 : tensor<16x64xf32>
    %c_0.797885_40a7 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_236d = stablehlo.broadcast_in_dim %c_0.797885_40a7, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_cb8d = stablehlo.multiply %broadcast_in_dim_236d, %add_b1b0 : tensor<16x64xf32>
    %tanh = stablehlo.tanh %multiply_cb8d : tensor<16x64xf32>
    %c_1_bfed = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_61d2 = stablehlo.broadcast_in_dim %c_1_bfed, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %subtract_92aa = stablehlo.subtract %broadcast_in_dim_61d2, %tanh : tensor<16x64xf32>
    %c_1_5e32 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_329b = stablehlo.broadcast_in_dim %c_1_5e32, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %add_72a8 = stablehlo.add %broadcast_in_dim_329b, %tanh : tensor<16x64xf32>
    %c_0.5_9e3a = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_5fd4 = stablehlo.broadcast_in_dim %c_0.5_9e3a, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_b2a1 = stablehlo.multiply %broadcast_in_dim_5fd4, %add_72a8 : tensor<16x64xf32>
    %multiply_af74 = stablehlo.multiply %add_6854, %multiply_b2a1 : tensor<16x64xf32>
    %dot_general_9aab = stablehlo.dot_general %arg2, %multiply_af74, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
    %transpose_f3e4 = stablehlo.transpose %dot_general_9aab, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %broadcast_in_dim_bef9 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %broadcast_in_dim_f29f = stablehlo.broadcast_in_dim %broadcast_in_dim_bef9, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<16x8xf32>
    %add_5cec = stablehlo.add %transpose_f3e4, %broadcast_in_dim_f29f : tensor<16x8xf32>
    %broadcast_in_dim_6410 = stablehlo.broadcast_in_dim %arg14, dims = [0] : (tensor<16xi32>) -> tensor<16x1xi32>
    %call_3555:2 = call @select_b64aeb(%add_5cec, %broadcast_in_dim_6410) : (tensor<16x8xf32>, tensor<16x1xi32>) -> (tensor<16x1xf32>, tensor<16x1x1xi32>)
    %c_0_4c11 = stablehlo.constant dense<0> : tensor<i32>
    %call_da11:2 = call @select_3f69e4(%call_3555#0, %c_0_4c11) : (tensor<16x1xf32>, tensor<i32>) -> (tensor<16xf32>, tensor<1xi32>)
    %c_0xFF800000_d489 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %reduce_maximum = stablehlo.reduce(%add_5cec init: %c_0xFF800000_d489) applies stablehlo.maximum across dimensions = [1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<16xf32>
    %c_0xFF800000_4784 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %broadcast_in_dim_4bcf = stablehlo.broadcast_in_dim %c_0xFF800000_4784, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %maximum = stablehlo.maximum %broadcast_in_dim_4bcf, %reduce_maximum : tensor<16xf32>
    %is_finite = stablehlo.is_finite %maximum : (tensor<16xf32>) -> tensor<16xi1>
    %c_0_78a8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_52a4 = stablehlo.broadcast_in_dim %c_0_78a8, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %select_08bf = stablehlo.select %is_finite, %maximum, %broadcast_in_dim_52a4 : tensor<16xi1>, tensor<16xf32>
    %broadcast_in_dim_400a = stablehlo.broadcast_in_dim %select_08bf, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %broadcast_in_dim_0810 = stablehlo.broadcast_in_dim %broadcast_in_dim_400a, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x8xf32>
    %subtract_941a = stablehlo.subtract %add_5cec, %broadcast_in_dim_0810 : tensor<16x8xf32>
    %exponential = stablehlo.exponential %subtract_941a : tensor<16x8xf32>
    %c_0_46c7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_e89a = stablehlo.reduce(%exponential init: %c_0_46c7) applies stablehlo.add across dimensions = [1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<16xf32>
    %abs = stablehlo.abs %reduce_add_e89a : tensor<16xf32>
    %c_0_6f5f = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_7075 = stablehlo.broadcast_in_dim %c_0_6f5f, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %compare_5a19 = stablehlo.compare GE, %reduce_add_e89a, %broadcast_in_dim_7075, FLOAT : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xi1>
    %log = stablehlo.log %abs : tensor<16xf32>
    %add_def8 = stablehlo.add %log, %select_08bf : tensor<16xf32>
    %subtract_3ee6 = stablehlo.subtract %add_def8, %call_da11#0 : tensor<16xf32>
    %c_0_3fbe = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_b92b = stablehlo.reduce(%subtract_3ee6 init: %c_0_3fbe) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %c_16_cd1d = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %divide_6b2f = stablehlo.divide %reduce_add_b92b, %c_16_cd1d : tensor<f32>
    %c_1_fdf5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_16_92bc = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %divide_ff66 = stablehlo.divide %c_1_fdf5, %c_16_92bc : tensor<f32>
    %broadcast_in_dim_844b = stablehlo.broadcast_in_dim %divide_ff66, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %negate_f7a2 = stablehlo.negate %broadcast_in_dim_844b : tensor<16xf32>
    %divide_e8bc = stablehlo.divide %broadcast_in_dim_844b, %abs : tensor<16xf32>
    %c_0_c54a = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_13b5 = stablehlo.broadcast_in_dim %c_0_c54a, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %select_c5ae = stablehlo.select %compare_5a19, %broadcast_in_dim_13b5, %divide_e8bc : tensor<16xi1>, tensor<16xf32>
    %select_f0a3 = stablehlo.select %compare_5a19, %divide_e8bc, %broadcast_in_dim_13b5 : tensor<16xi1>, tensor<16xf32>
    %negate_3226 = stablehlo.negate %select_c5ae : tensor<16xf32>
    %add_669c = stablehlo.add %select_f0a3, %negate_3226 : tensor<16xf32>
    %broadcast_in_dim_95da = stablehlo.broadcast_in_dim %add_669c, dims = [0] : (tensor<16xf32>) -> tensor<16x8xf32>
    %multiply_16a1 = stablehlo.multiply %broadcast_in_dim_95da, %exponential : tensor<16x8xf32>
    %call_1866 = call @scatter_bd14e7(%call_da11#1, %negate_f7a2) : (tensor<1xi32>, tensor<16xf32>) -> tensor<16x1xf32>
    %call_c0c5 = call @scatter_3c6cb0(%call_3555#1, %call_1866) : (tensor<16x1x1xi32>, tensor<16x1xf32>) -> tensor<16x8xf32>
    %add_3983 = stablehlo.add %multiply_16a1, %call_c0c5 : tensor<16x8xf32>
    %c_0_04b7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_5788 = stablehlo.reduce(%add_3983 init: %c_0_04b7) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
    %reshape_1aa4 = stablehlo.reshape %reduce_add_5788 : (tensor<8xf32>) -> tensor<1x8xf32>
    %c_0_f394 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_00ad = stablehlo.reduce(%reshape_1aa4 init: %c_0_f394) applies stablehlo.add across dimensions = [0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %transpose_847e = stablehlo.transpose %add_3983, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %dot_general_f1bc = stablehlo.dot_general %transpose_847e, %arg2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
    %dot_general_9159 = stablehlo.dot_general %transpose_847e, %multiply_af74, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %multiply_6436 = stablehlo.multiply %add_6854, %dot_general_f1bc : tensor<16x64xf32>
    %multiply_b767 = stablehlo.multiply %dot_general_f1bc, %multiply_b2a1 : tensor<16x64xf32>
    %c_0.5_0a4d = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_f175 = stablehlo.broadcast_in_dim %c_0.5_0a4d, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_6f40 = stablehlo.multiply %broadcast_in_dim_f175, %multiply_6436 : tensor<16x64xf32>
    %multiply_5241 = stablehlo.multiply %multiply_6f40, %subtract_92aa : tensor<16x64xf32>
    %multiply_607c = stablehlo.multiply %multiply_5241, %tanh : tensor<16x64xf32>
    %add_f264 = stablehlo.add %multiply_5241, %multiply_607c : tensor<16x64xf32>
    %c_0.797885_157f = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_e66f = stablehlo.broadcast_in_dim %c_0.797885_157f, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_7547 = stablehlo.multiply %broadcast_in_dim_e66f, %add_f264 : tensor<16x64xf32>
    %add_4115 = stablehlo.add %multiply_b767, %multiply_7547 : tensor<16x64xf32>
    %c_0.044715_8959 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_6d80 = stablehlo.broadcast_in_dim %c_0.044715_8959, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_6943 = stablehlo.multiply %broadcast_in_dim_6d80, %multiply_7547 : tensor<16x64xf32>
    %multiply_a3e8 = stablehlo.multiply %multiply_6943, %multiply_908a : tensor<16x64xf32>
    %add_0334 = stablehlo.add %add_4115, %multiply_a3e8 : tensor<16x64xf32>
    %c_0_0c37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_0506 = stablehlo.reduce(%add_0334 init: %c_0_0c37) applies stablehlo.add across dimensions = [0] : (tensor<16x64xf32>, tensor<f32>) -> tensor<64xf32>
    %reshape_5e81 = stablehlo.reshape %reduce_add_0506 : (tensor<64xf32>) -> tensor<1x64xf32>
    %c_0_390b = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_d929 = stablehlo.reduce(%reshape_5e81 init: %c_0_390b) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %transpose_0185 = stablehlo.transpose %add_0334, dims = [1, 0] : (tensor<16x64xf32>) -> tensor<64x16xf32>
    %dot_general_3982 = stablehlo.dot_general %transpose_0185, %arg13, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
    %c_0.1_a9c2 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_6889 = stablehlo.broadcast_in_dim %c_0.1_a9c2, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %multiply_b853 = stablehlo.multiply %broadcast_in_dim_6889, %dot_general_3982 : tensor<64x32xf32>
    %c_0.9_f99e = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_8d21 = stablehlo.broadcast_in_dim %c_0.9_f99e, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %multiply_cd01 = stablehlo.multiply %broadcast_in_dim_8d21, %arg5 : tensor<64x32xf32>
    %add_0ba4 = stablehlo.add %multiply_b853, %multiply_cd01 : tensor<64x32xf32>
    %c_0.1_5075 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_f5d8 = stablehlo.broadcast_in_dim %c_0.1_5075, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %multiply_f8cc = stablehlo.multiply %broadcast_in_dim_f5d8, %reduce_add_d929 : tensor<64xf32>
    %c_0.9_af1c = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_7938 = stablehlo.broadcast_in_dim %c_0.9_af1c, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %multiply_42ad = stablehlo.multiply %broadcast_in_dim_7938, %arg6 : tensor<64xf32>
    %add_316a = stablehlo.add %multiply_f8cc, %multiply_42ad : tensor<64xf32>
    %c_0.1_178e = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_3c28 = stablehlo.broadcast_in_dim %c_0.1_178e, dims = [] : (tensor<f32>) -> tensor<8x64xf32>
    %multiply_781d = stablehlo.multiply %broadcast_in_dim_3c28, %dot_general_9159 : tensor<8x64xf32>
    %c_0.9_6eb3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_1452 = stablehlo.broadcast_in_dim %c_0.9_6eb3, dims = [] : (tensor<f32>) -> tensor<8x64xf32>
    %multiply_1a43 = stablehlo.multiply %broadcast_in_dim_1452, %arg7 : tensor<8x64xf32>
    %add_e95e = stablehlo.add %multiply_781d, %multiply_1a43 : tensor<8x64xf32>
    %c_0.1_832b = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_5f40 = stablehlo.broadcast_in_dim %c_0.1_832b, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %multiply_a0b5 = stablehlo.multiply %broadcast_in_dim_5f40, %reduce_add_00ad : tensor<8xf32>
    %c_0.9_77ab = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_e380 = stablehlo.broadcast_in_dim %c_0.9_77ab, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %multiply_2984 = stablehlo.multiply %broadcast_in_dim_e380, %arg8 : tensor<8xf32>
    %add_5cb1 = stablehlo.add %multiply_a0b5, %multiply_2984 : tensor<8xf32>
    %multiply_1c51 = stablehlo.multiply %dot_general_3982, %dot_general_3982 : tensor<64x32xf32>
    %c_0.001_6aa7 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_c615 = stablehlo.broadcast_in_dim %c_0.001_6aa7, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %multiply_aa20 = stablehlo.multiply %broadcast_in_dim_c615, %multiply_1c51 : tensor<64x32xf32>
    %c_0.999_88f3 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %broadcast_in_dim_c0ae = stablehlo.broadcast_in_dim %c_0.999_88f3, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %multiply_d154 = stablehlo.multiply %broadcast_in_dim_c0ae, %arg9 : tensor<64x32xf32>
    %add_4380 = stablehlo.add %multiply_aa20, %multiply_d154 : tensor<64x32xf32>
    %multiply_fefc = stablehlo.multiply %reduce_add_d929, %reduce_add_d929 : tensor<64xf32>
    %c_0.001_1d8a = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_059c = stablehlo.broadcast_in_dim %c_0.001_1d8a, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %multiply_3ae7 = stablehlo.multiply %broadcast_in_dim_059c, %multiply_fefc : tensor<64xf32>
    %c_0.999_7eab = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %broadcast_in_dim_bcaa = stablehlo.broadcast_in_dim %c_0.999_7eab, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %multiply_1edf = stablehlo.multiply %broadcast_in_dim_bcaa, %arg10 : tensor<64xf32>
    %add_5b91 = stablehlo.add %multiply_3ae7, %multiply_1edf : tensor<64xf32>
    %multiply_680e = stablehlo.multiply %dot_general_9159, %dot_general_9159 : tensor<8x64xf32>
    %c_0.001_9323 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_1c5c = stablehlo.broadcast_in_dim %c_0.001_9323, dims = [] : (tensor<f32>) -> tensor<8x64xf32>
    %multiply_9863 = stablehlo.multiply %broadcast_in_dim_1c5c, %multiply_680e : tensor<8x64xf32>
    %c_0.999_96b8 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %broadcast_in_dim_8b41 = stablehlo.broadcast_in_dim %c_0.999_96b8, dims = [] : (tensor<f32>) -> tensor<8x64xf32>
    %multiply_d8ec = stablehlo.multiply %broadcast_in_dim_8b41, %arg11 : tensor<8x64xf32>
    %add_168a = stablehlo.add %multiply_9863, %multiply_d8ec : tensor<8x64xf32>
    %multiply_d5bb = stablehlo.multiply %reduce_add_00ad, %reduce_add_00ad : tensor<8xf32>
    %c_0.001_29d7 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_af68 = stablehlo.broadcast_in_dim %c_0.001_29d7, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %multiply_4b88 = stablehlo.multiply %broadcast_in_dim_af68, %multiply_d5bb : tensor<8xf32>
    %c_0.999_7092 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %broadcast_in_dim_9cc4 = stablehlo.broadcast_in_dim %c_0.999_7092, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %multiply_e34c = stablehlo.multiply %broadcast_in_dim_9cc4, %arg12 : tensor<8xf32>
    %add_fb3f = stablehlo.add %multiply_4b88, %multiply_e34c : tensor<8xf32>
    %c_2.14748e09_0981 = stablehlo.constant dense<2147483647> : tensor<i32>
    %compare_ab3d = stablehlo.compare LT, %arg4, %c_2.14748e09_0981, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_1_3606 = stablehlo.constant dense<1> : tensor<i32>
    %add_a677 = stablehlo.add %arg4, %c_1_3606 : tensor<i32>
    %c_2.14748e09_98d1 = stablehlo.constant dense<2147483647> : tensor<i32>
    %call_7129 = call @select_eb84ca(%compare_ab3d, %add_a677, %c_2.14748e09_98d1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %c_0.9_ab99 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %convert_b8e2 = stablehlo.convert %call_7129 : (tensor<i32>) -> tensor<f32>
    %power_b50d = stablehlo.power %c_0.9_ab99, %convert_b8e2 : tensor<f32>
    %c_1_a98d = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %subtract_4331 = stablehlo.subtract %c_1_a98d, %power_b50d : tensor<f32>
    %broadcast_in_dim_c3b0 = stablehlo.broadcast_in_dim %subtract_4331, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %divide_bb06 = stablehlo.divide %add_0ba4, %broadcast_in_dim_c3b0 : tensor<64x32xf32>
    %broadcast_in_dim_57b5 = stablehlo.broadcast_in_dim %subtract_4331, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %divide_23da = stablehlo.divide %add_316a, %broadcast_in_dim_57b5 : tensor<64xf32>
    %broadcast_in_dim_56d0 = stablehlo.broadcast_in_dim %subtract_4331, dims = [] : (tensor<f32>) -> tensor<8x64xf32>
    %divide_631f = stablehlo.divide %add_e95e, %broadcast_in_dim_56d0 : tensor<8x64xf32>
    %broadcast_in_dim_383c = stablehlo.broadcast_in_dim %subtract_4331, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %divide_5a60 = stablehlo.divide %add_5cb1, %broadcast_in_dim_383c : tensor<8xf32>
    %c_0.999_fe02 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %convert_8151 = stablehlo.convert %call_7129 : (tensor<i32>) -> tensor<f32>
    %power_b303 = stablehlo.power %c_0.999_fe02, %convert_8151 : tensor<f32>
    %c_1_5fde = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %subtract_bf79 = stablehlo.subtract %c_1_5fde, %power_b303 : tensor<f32>
    %broadcast_in_dim_c100 = stablehlo.broadcast_in_dim %subtract_bf79, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %divide_f260 = stablehlo.divide %add_4380, %broadcast_in_dim_c100 : tensor<64x32xf32>
    %broadcast_in_dim_62b6 = stablehlo.broadcast_in_dim %subtract_bf79, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %divide_3cbf = stablehlo.divide %add_5b91, %broadcast_in_dim_62b6 : tensor<64xf32>
    %broadcast_in_dim_2527 = stablehlo.broadcast_in_dim %subtract_bf79, dims = [] : (tensor<f32>) -> tensor<8x64xf32>
    %divide_71d9 = stablehlo.divide %add_168a, %broadcast_in_dim_2527 : tensor<8x64xf32>
    %broadcast_in_dim_07e6 = stablehlo.broadcast_in_dim %subtract_bf79, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %divide_8b6e = stablehlo.divide %add_fb3f, %broadcast_in_dim_07e6 : tensor<8xf32>
    %c_0_b473 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_9784 = stablehlo.broadcast_in_dim %c_0_b473, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %add_e71c = stablehlo.add %divide_f260, %broadcast_in_dim_9784 : tensor<64x32xf32>
    %sqrt_a748 = stablehlo.sqrt %add_e71c : tensor<64x32xf32>
    %c_1e-08_4f9e = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %broadcast_in_dim_3c4b = stablehlo.broadcast_in_dim %c_1e-08_4f9e, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %add_0a43 = stablehlo.add %sqrt_a748, %broadcast_in_dim_3c4b : tensor<64x32xf32>
    %divide_a97d = stablehlo.divide %divide_bb06, %add_0a43 : tensor<64x32xf32>
    %c_0_38f0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_af38 = stablehlo.broadcast_in_dim %c_0_38f0, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %add_d313 = stablehlo.add %divide_3cbf, %broadcast_in_dim_af38 : tensor<64xf32>
    %sqrt_ecd7 = stablehlo.sqrt %add_d313 : tensor<64xf32>
    %c_1e-08_a4e1 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %broadcast_in_dim_4b86 = stablehlo.broadcast_in_dim %c_1e-08_a4e1, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %add_5601 = stablehlo.add %sqrt_ecd7, %broadcast_in_dim_4b86 : tensor<64xf32>
    %divide_4a26 = stablehlo.divide %divide_23da, %add_5601 : tensor<64xf32>
    %c_0_cc82 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_c1af = stablehlo.broadcast_in_dim %c_0_cc82, dims = [] : (tensor<f32>) -> tensor<8x64xf32>
    %add_14c6 = stablehlo.add %divide_71d9, %broadcast_in_dim_c1af : tensor<8x64xf32>
    %sqrt_66f8 = stablehlo.sqrt %add_14c6 : tensor<8x64xf32>
    %c_1e-08_e462 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %broadcast_in_dim_6c17 = stablehlo.broadcast_in_dim %c_1e-08_e462, dims = [] : (tensor<f32>) -> tensor<8x64xf32>
    %add_e1d2 = stablehlo.add %sqrt_66f8, %broadcast_in_dim_6c17 : tensor<8x64xf32>
    %divide_ad39 = stablehlo.divide %divide_631f, %add_e1d2 : tensor<8x64xf32>
    %c_0_f88f = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_0815 = stablehlo.broadcast_in_dim %c_0_f88f, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %add_6927 = stablehlo.add %divide_8b6e, %broadcast_in_dim_0815 : tensor<8xf32>
    %sqrt_65d0 = stablehlo.sqrt %add_6927 : tensor<8xf32>
    %c_1e-08_c2c0 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %broadcast_in_dim_b0e6 = stablehlo.broadcast_in_dim %c_1e-08_c2c0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %add_58c0 = stablehlo.add %sqrt_65d0, %broadcast_in_dim_b0e6 : tensor<8xf32>
    %divide_6916 = stablehlo.divide %divide_5a60, %add_58c0 : tensor<8xf32>
    %c_-0.001_b06f = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %broadcast_in_dim_ac11 = stablehlo.broadcast_in_dim %c_-0.001_b06f, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %multiply_9310 = stablehlo.multiply %broadcast_in_dim_ac11, %divide_a97d : tensor<64x32xf32>
    %c_-0.001_fbab = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %broadcast_in_dim_221b = stablehlo.broadcast_in_dim %c_-0.001_fbab, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %multiply_0155 = stablehlo.multiply %broadcast_in_dim_221b, %divide_4a26 : tensor<64xf32>
    %c_-0.001_b4be = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %broadcast_in_dim_1177 = stablehlo.broadcast_in_dim %c_-0.001_b4be, dims = [] : (tensor<f32>) -> tensor<8x64xf32>
    %multiply_3397 = stablehlo.multiply %broadcast_in_dim_1177, %divide_ad39 : tensor<8x64xf32>
    %c_-0.001_b675 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %broadcast_in_dim_0c7f = stablehlo.broadcast_in_dim %c_-0.001_b675, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %multiply_be83 = stablehlo.multiply %broadcast_in_dim_0c7f, %divide_6916 : tensor<8xf32>
    %add_b0b6 = stablehlo.add %arg0, %multiply_9310 : tensor<64x32xf32>
    %add_cf0d = stablehlo.add %arg1, %multiply_0155 : tensor<64xf32>
    %add_fbf5 = stablehlo.add %arg2, %multiply_3397 : tensor<8x64xf32>
    %add_7efc = stablehlo.add %arg3, %multiply_be83 : tensor<8xf32>
    %c_0_d948 = stablehlo.constant dense<0> : tensor<i32>
    return %c_0_d948, %add_b0b6, %add_cf0d, %add_fbf5, %add_7efc, %call_7129, %add_0ba4, %add_316a, %add_e95e, %add_5cb1, %add_4380, %add_5b91, %add_168a, %add_fb3f, %divide_6b2f : tensor<i32>, tensor<64x32xf32>, tensor<64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<i32>, tensor<64x32xf32>, tensor<64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<64x32xf32>, tensor<64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<f32>
  }
  func.func private @select_b64aeb(%arg0: tensor<16x8xf32>, %arg1: tensor<16x1xi32>) -> (tensor<16x1xf32>, tensor<16x1x1xi32>) {
    %c_0_447a = stablehlo.constant dense<0> : tensor<i32>
    %broadcast_in_dim_0781 = stablehlo.broadcast_in_dim %c_0_447a, dims = [] : (tensor<i32>) -> tensor<16x1xi32>
    %compare_d76d = stablehlo.compare LT, %arg1, %broadcast_in_dim_0781, SIGNED : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x1xi1>
    %c_8 = stablehlo.constant dense<8> : tensor<i32>
    %broadcast_in_dim_5ebe = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<16x1xi32>
    %add = stablehlo.add %arg1, %broadcast_in_dim_5ebe : tensor<16x1xi32>
    %select_546a = stablehlo.select %compare_d76d, %add, %arg1 : tensor<16x1xi1>, tensor<16x1xi32>
    %reshape = stablehlo.reshape %select_546a : (tensor<16x1xi32>) -> tensor<16x1x1xi32>
    %c_7 = stablehlo.constant dense<7> : tensor<1xi32>
    %c_0_26c1 = stablehlo.constant dense<0> : tensor<i32>
    %broadcast_in_dim_356c = stablehlo.broadcast_in_dim %c_0_26c1, dims = [] : (tensor<i32>) -> tensor<16x1x1xi32>
    %compare_a1fc = stablehlo.compare GE, %reshape, %broadcast_in_dim_356c, SIGNED : (tensor<16x1x1xi32>, tensor<16x1x1xi32>) -> tensor<16x1x1xi1>
    %broadcast_in_dim_f8c7 = stablehlo.broadcast_in_dim %c_7, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %broadcast_in_dim_b1c0 = stablehlo.broadcast_in_dim %broadcast_in_dim_f8c7, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<16x1x1xi32>
    %compare_a2e3 = stablehlo.compare LE, %reshape, %broadcast_in_dim_b1c0, SIGNED : (tensor<16x1x1xi32>, tensor<16x1x1xi32>) -> tensor<16x1x1xi1>
    %and = stablehlo.and %compare_a1fc, %compare_a2e3 : tensor<16x1x1xi1>
    %c_true = stablehlo.constant dense<true> : tensor<i1>
    %reduce_and = stablehlo.reduce(%and init: %c_true) applies stablehlo.and across dimensions = [2] : (tensor<16x1x1xi1>, tensor<i1>) -> tensor<16x1xi1>
    %gather = "stablehlo.gather"(%arg0, %reshape) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<16x8xf32>, tensor<16x1x1xi32>) -> tensor<16x1xf32>
    %c_0x7FC00000 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_66a6 = stablehlo.broadcast_in_dim %c_0x7FC00000, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %select_8c2e = stablehlo.select %reduce_and, %gather, %broadcast_in_dim_66a6 : tensor<16x1xi1>, tensor<16x1xf32>
    return %select_8c2e, %reshape : tensor<16x1xf32>, tensor<16x1x1xi32>
  }
  func.func private @select_3f69e4(%arg0: tensor<16x1xf32>, %arg1: tensor<i32>) -> (tensor<16xf32>, tensor<1xi32>) {
    %c_0_73ee = stablehlo.constant dense<0> : tensor<i32>
    %compare_eb5a = stablehlo.compare LT, %arg1, %c_0_73ee, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %add = stablehlo.add %arg1, %c_1 : tensor<i32>
    %call = call @select_eb84ca(%compare_eb5a, %add, %arg1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %broadcast_in_dim_8529 = stablehlo.broadcast_in_dim %call, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %c_0_8e62 = stablehlo.constant dense<0> : tensor<1xi32>
    %convert = stablehlo.convert %broadcast_in_dim_8529 : tensor<1xi32>
    %c_0_06dc = stablehlo.constant dense<0> : tensor<i32>
    %broadcast_in_dim_7075 = stablehlo.broadcast_in_dim %c_0_06dc, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %compare_b792 = stablehlo.compare GE, %convert, %broadcast_in_dim_7075, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %compare_1ac0 = stablehlo.compare LE, %convert, %c_0_8e62, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %and = stablehlo.and %compare_b792, %compare_1ac0 : tensor<1xi1>
    %c_true = stablehlo.constant dense<true> : tensor<i1>
    %reduce_and = stablehlo.reduce(%and init: %c_true) applies stablehlo.and across dimensions = [0] : (tensor<1xi1>, tensor<i1>) -> tensor<i1>
    %gather = "stablehlo.gather"(%arg0, %convert) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1]>, indices_are_sorted = false, slice_sizes = array<i64: 16, 1>}> : (tensor<16x1xf32>, tensor<1xi32>) -> tensor<16xf32>
    %broadcast_in_dim_38ce = stablehlo.broadcast_in_dim %reduce_and, dims = [] : (tensor<i1>) -> tensor<16xi1>
    %c_0x7FC00000 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_66a6 = stablehlo.broadcast_in_dim %c_0x7FC00000, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %select = stablehlo.select %broadcast_in_dim_38ce, %gather, %broadcast_in_dim_66a6 : tensor<16xi1>, tensor<16xf32>
    return %select, %broadcast_in_dim_8529 : tensor<16xf32>, tensor<1xi32>
  }
  func.func private @select_eb84ca(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %select = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %select : tensor<i32>
  }
  func.func private @scatter_bd14e7(%arg0: tensor<1xi32>, %arg1: tensor<16xf32>) -> tensor<16x1xf32> {
    %c_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %scatter = "stablehlo.scatter"(%broadcast_in_dim, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = false}> ({
    ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
      %in_add = stablehlo.add %a0, %a1 : tensor<f32>
      stablehlo.return %in_add : tensor<f32>
    }) : (tensor<16x1xf32>, tensor<1xi32>, tensor<16xf32>) -> tensor<16x1xf32>
    return %scatter : tensor<16x1xf32>
  }
  func.func private @scatter_3c6cb0(%arg0: tensor<16x1x1xi32>, %arg1: tensor<16x1xf32>) -> tensor<16x8xf32> {
    %c_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %scatter = "stablehlo.scatter"(%broadcast_in_dim, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
      %in_add = stablehlo.add %a0, %a1 : tensor<f32>
      stablehlo.return %in_add : tensor<f32>
    }) : (tensor<16x8xf32>, tensor<16x1x1xi32>, tensor<16x1xf32>) -> tensor<16x8xf32>
    return %scatter : tensor<16x8xf32>
  }
}
