module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<64x64xf32>, %arg3: tensor<64xf32>, %arg4: tensor<64x64xf32>, %arg5: tensor<64xf32>, %arg6: tensor<32x64xf32>, %arg7: tensor<32x64xf32>) -> (tensor<i32>, tensor<f32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>) {
    %dot_general_2364 = stablehlo.dot_general %arg0, %arg6, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<64x32xf32>
    %transpose_d939 = stablehlo.transpose %dot_general_2364, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
    %broadcast_in_dim_74c2 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %broadcast_in_dim_f55e = stablehlo.broadcast_in_dim %broadcast_in_dim_74c2, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %add_6afb = stablehlo.add %transpose_d939, %broadcast_in_dim_f55e : tensor<32x64xf32>
    %multiply_857f = stablehlo.multiply %add_6afb, %add_6afb : tensor<32x64xf32>
    %multiply_84b0 = stablehlo.multiply %multiply_857f, %add_6afb : tensor<32x64xf32>
    %multiply_1c3d = stablehlo.multiply %add_6afb, %add_6afb : tensor<32x64xf32>
    %c_3_4167 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %broadcast_in_dim_5ac0 = stablehlo.broadcast_in_dim %c_3_4167, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_f63e = stablehlo.multiply %broadcast_in_dim_5ac0, %multiply_1c3d : tensor<32x64xf32>
    %c_0.044715_a554 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_4db2 = stablehlo.broadcast_in_dim %c_0.044715_a554, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_8254 = stablehlo.multiply %broadcast_in_dim_4db2, %multiply_84b0 : tensor<32x64xf32>
    %add_da5b = stablehlo.add %add_6afb, %multiply_8254 : tensor<32x64xf32>
    %c_0.797885_123a = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_c085 = stablehlo.broadcast_in_dim %c_0.797885_123a, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_26cc = stablehlo.multiply %broadcast_in_dim_c085, %add_da5b : tensor<32x64xf32>
    %tanh_7109 = stablehlo.tanh %multiply_26cc : tensor<32x64xf32>
    %c_1_ef76 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_068e = stablehlo.broadcast_in_dim %c_1_ef76, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %subtract_e2dd = stablehlo.subtract %broadcast_in_dim_068e, %tanh_7109 : tensor<32x64xf32>
    %c_1_d87b = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_7b5b = stablehlo.broadcast_in_dim %c_1_d87b, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %add_827c = stablehlo.add %broadcast_in_dim_7b5b, %tanh_7109 : tensor<32x64xf32>
    %c_0.5_afc2 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_8c78 = stablehlo.broadcast_in_dim %c_0.5_afc2, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_6658 = stablehlo.multiply %broadcast_in_dim_8c78, %add_827c : tensor<32x64xf32>
    %multiply_7ef4 = stablehlo.multiply %add_6afb, %multiply_6658 : tensor<32x64xf32>
    %dot_general_9aab = stablehlo.dot_general %arg2, %multiply_7ef4, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<64x32xf32>
    %transpose_8ca3 = stablehlo.transpose %dot_general_9aab, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
    %broadcast_in_dim_bef9 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %broadcast_in_dim_4053 = stablehlo.broadcast_in_dim %broadcast_in_dim_bef9, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %add_e2cd = stablehlo.add %transpose_8ca3, %broadcast_in_dim_4053 : tensor<32x64xf32>
    %multiply_7da4 = stablehlo.multiply %add_e2cd, %add_e2cd : tensor<32x64xf32>
    %multiply_df1d = stablehlo.multiply %multiply_7da4, %add_e2cd : tensor<32x64xf32>
    %multiply_0f4b = stablehlo.multiply %add_e2cd, %add_e2cd : tensor<32x64xf32>
    %c_3_cfbc = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %broadcast_in_dim_a9a1 = stablehlo.broadcast_in_dim %c_3_cfbc, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_6e83 = stablehlo.multiply %broadcast_in_dim_a9a1, %multiply_0f4b : tensor<32x64xf32>
    %c_0.044715_5c7a = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_9594 = stablehlo.broadcast_in_dim %c_0.044715_5c7a, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_4338 = stablehlo.multiply %broadcast_in_dim_9594, %multiply_df1d : tensor<32x64xf32>
    %add_3840 = stablehlo.add %add_e2cd, %multiply_4338 : tensor<32x64xf32>
    %c_0.797885_9804 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_2f72 = stablehlo.broadcast_in_dim %c_0.797885_9804, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_ad55 = stablehlo.multiply %broadcast_in_dim_2f72, %add_3840 : tensor<32x64xf32>
    %tanh_8bcd = stablehlo.tanh %multiply_ad55 : tensor<32x64xf32>
    %c_1_0927 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_d4d8 = stablehlo.broadcast_in_dim %c_1_0927, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %subtract_8e1b = stablehlo.subtract %broadcast_in_dim_d4d8, %tanh_8bcd : tensor<32x64xf32>
    %c_1_0489 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_308a = stablehlo.broadcast_in_dim %c_1_0489, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %add_596b = stablehlo.add %broadcast_in_dim_308a, %tanh_8bcd : tensor<32x64xf32>
    %c_0.5_ffcc = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_5f68 = stablehlo.broadcast_in_dim %c_0.5_ffcc, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_8143 = stablehlo.multiply %broadcast_in_dim_5f68, %add_596b : tensor<32x64xf32>
    %multiply_dde6 = stablehlo.multiply %add_e2cd, %multiply_8143 : tensor<32x64xf32>
    %dot_general_9cc7 = stablehlo.dot_general %arg4, %multiply_dde6, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<64x32xf32>
    %transpose_cd5e = stablehlo.transpose %dot_general_9cc7, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
    %broadcast_in_dim_f1fd = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %broadcast_in_dim_b288 = stablehlo.broadcast_in_dim %broadcast_in_dim_f1fd, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %add_6f4e = stablehlo.add %transpose_cd5e, %broadcast_in_dim_b288 : tensor<32x64xf32>
    %subtract_b084 = stablehlo.subtract %add_6f4e, %arg7 : tensor<32x64xf32>
    %multiply_db94 = stablehlo.multiply %subtract_b084, %subtract_b084 : tensor<32x64xf32>
    %c_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %broadcast_in_dim_6e18 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_bf06 = stablehlo.multiply %broadcast_in_dim_6e18, %subtract_b084 : tensor<32x64xf32>
    %c_0_51f0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_20fa = stablehlo.reduce(%multiply_db94 init: %c_0_51f0) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<f32>
    %c_2048_1d51 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %divide_95b1 = stablehlo.divide %reduce_add_20fa, %c_2048_1d51 : tensor<f32>
    %c_1_fdf5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_2048_35d8 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %divide_c4a1 = stablehlo.divide %c_1_fdf5, %c_2048_35d8 : tensor<f32>
    %broadcast_in_dim_1c49 = stablehlo.broadcast_in_dim %divide_c4a1, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_d795 = stablehlo.multiply %broadcast_in_dim_1c49, %multiply_bf06 : tensor<32x64xf32>
    %c_0_0eed = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_e060 = stablehlo.reduce(%multiply_d795 init: %c_0_0eed) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %reshape_6a48 = stablehlo.reshape %reduce_add_e060 : (tensor<64xf32>) -> tensor<1x64xf32>
    %c_0_fc78 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_1c98 = stablehlo.reduce(%reshape_6a48 init: %c_0_fc78) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %transpose_1515 = stablehlo.transpose %multiply_d795, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
    %dot_general_a631 = stablehlo.dot_general %transpose_1515, %arg4, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x32xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %dot_general_32a3 = stablehlo.dot_general %transpose_1515, %multiply_dde6, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %multiply_d514 = stablehlo.multiply %add_e2cd, %dot_general_a631 : tensor<32x64xf32>
    %multiply_d91d = stablehlo.multiply %dot_general_a631, %multiply_8143 : tensor<32x64xf32>
    %c_0.5_a103 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_69de = stablehlo.broadcast_in_dim %c_0.5_a103, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_21f4 = stablehlo.multiply %broadcast_in_dim_69de, %multiply_d514 : tensor<32x64xf32>
    %multiply_ff42 = stablehlo.multiply %multiply_21f4, %subtract_8e1b : tensor<32x64xf32>
    %multiply_8380 = stablehlo.multiply %multiply_ff42, %tanh_8bcd : tensor<32x64xf32>
    %add_fe6a = stablehlo.add %multiply_ff42, %multiply_8380 : tensor<32x64xf32>
    %c_0.797885_ec71 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_62aa = stablehlo.broadcast_in_dim %c_0.797885_ec71, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_bb52 = stablehlo.multiply %broadcast_in_dim_62aa, %add_fe6a : tensor<32x64xf32>
    %add_eb83 = stablehlo.add %multiply_d91d, %multiply_bb52 : tensor<32x64xf32>
    %c_0.044715_98b7 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_3782 = stablehlo.broadcast_in_dim %c_0.044715_98b7, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_4e91 = stablehlo.multiply %broadcast_in_dim_3782, %multiply_bb52 : tensor<32x64xf32>
    %multiply_b901 = stablehlo.multiply %multiply_4e91, %multiply_6e83 : tensor<32x64xf32>
    %add_f8aa = stablehlo.add %add_eb83, %multiply_b901 : tensor<32x64xf32>
    %c_0_e30d = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_265c = stablehlo.reduce(%add_f8aa init: %c_0_e30d) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %reshape_fa7d = stablehlo.reshape %reduce_add_265c : (tensor<64xf32>) -> tensor<1x64xf32>
    %c_0_19fe = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_0dc7 = stablehlo.reduce(%reshape_fa7d init: %c_0_19fe) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %transpose_847e = stablehlo.transpose %add_f8aa, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
    %dot_general_f1bc = stablehlo.dot_general %transpose_847e, %arg2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x32xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %dot_general_dc88 = stablehlo.dot_general %transpose_847e, %multiply_7ef4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %multiply_5323 = stablehlo.multiply %add_6afb, %dot_general_f1bc : tensor<32x64xf32>
    %multiply_0002 = stablehlo.multiply %dot_general_f1bc, %multiply_6658 : tensor<32x64xf32>
    %c_0.5_4d39 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_fb1d = stablehlo.broadcast_in_dim %c_0.5_4d39, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_6d80 = stablehlo.multiply %broadcast_in_dim_fb1d, %multiply_5323 : tensor<32x64xf32>
    %multiply_6ddc = stablehlo.multiply %multiply_6d80, %subtract_e2dd : tensor<32x64xf32>
    %multiply_de4e = stablehlo.multiply %multiply_6ddc, %tanh_7109 : tensor<32x64xf32>
    %add_28fd = stablehlo.add %multiply_6ddc, %multiply_de4e : tensor<32x64xf32>
    %c_0.797885_a83a = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_c0bd = stablehlo.broadcast_in_dim %c_0.797885_a83a, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_47c9 = stablehlo.multiply %broadcast_in_dim_c0bd, %add_28fd : tensor<32x64xf32>
    %add_6aa3 = stablehlo.add %multiply_0002, %multiply_47c9 : tensor<32x64xf32>
    %c_0.044715_008f = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_d8cd = stablehlo.broadcast_in_dim %c_0.044715_008f, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_063d = stablehlo.multiply %broadcast_in_dim_d8cd, %multiply_47c9 : tensor<32x64xf32>
    %multiply_7e50 = stablehlo.multiply %multiply_063d, %multiply_f63e : tensor<32x64xf32>
    %add_831c = stablehlo.add %add_6aa3, %multiply_7e50 : tensor<32x64xf32>
    %c_0_12c6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_60f8 = stablehlo.reduce(%add_831c init: %c_0_12c6) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %reshape_72ef = stablehlo.reshape %reduce_add_60f8 : (tensor<64xf32>) -> tensor<1x64xf32>
    %c_0_c539 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_e197 = stablehlo.reduce(%reshape_72ef init: %c_0_c539) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %transpose_0185 = stablehlo.transpose %add_831c, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
    %dot_general_e7b3 = stablehlo.dot_general %transpose_0185, %arg6, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %c_0_d948 = stablehlo.constant dense<0> : tensor<i32>
    return %c_0_d948, %divide_95b1, %dot_general_e7b3, %reduce_add_e197, %dot_general_dc88, %reduce_add_0dc7, %dot_general_32a3, %reduce_add_1c98 : tensor<i32>, tensor<f32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>
  }
}
