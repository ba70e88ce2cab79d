module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x64xf32>, %arg1: tensor<6x64x64xf32>, %arg2: tensor<16x64xf32>) -> tensor<16x64xf32> {
    %slice_f6a8 = stablehlo.slice %arg0 [0:1, 0:64] : (tensor<6x64xf32>) -> tensor<1x64xf32>
    %reshape_d562 = stablehlo.reshape %slice_f6a8 : (tensor<1x64xf32>) -> tensor<64xf32>
    %slice_a0d1 = stablehlo.slice %arg1 [0:1, 0:64, 0:64] : (tensor<6x64x64xf32>) -> tensor<1x64x64xf32>
    %reshape_4bea = stablehlo.reshape %slice_a0d1 : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %multiply_1c23 = stablehlo.multiply %arg2, %arg2 : tensor<16x64xf32>
    %c_0_ca64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_c693 = stablehlo.reduce(%multiply_1c23 init: %c_0_ca64) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %broadcast_in_dim_4bea = stablehlo.broadcast_in_dim %reduce_add_c693, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %c_64_d549 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %broadcast_in_dim_0422 = stablehlo.broadcast_in_dim %c_64_d549, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %divide_e1b2 = stablehlo.divide %broadcast_in_dim_4bea, %broadcast_in_dim_0422 : tensor<16x1xf32>
    %c_1e-06_b200 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %broadcast_in_dim_e624 = stablehlo.broadcast_in_dim %c_1e-06_b200, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %add_2fa9 = stablehlo.add %divide_e1b2, %broadcast_in_dim_e624 : tensor<16x1xf32>
    %rsqrt_482a = stablehlo.rsqrt %add_2fa9 : tensor<16x1xf32>
    %broadcast_in_dim_0ae0 = stablehlo.broadcast_in_dim %rsqrt_482a, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %multiply_5129 = stablehlo.multiply %arg2, %broadcast_in_dim_0ae0 : tensor<16x64xf32>
    %dot_general_2ce4 = stablehlo.dot_general %multiply_5129, %reshape_4bea, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %broadcast_in_dim_5725 = stablehlo.broadcast_in_dim %reshape_d562, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %broadcast_in_dim_d30b = stablehlo.broadcast_in_dim %broadcast_in_dim_5725, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<16x64xf32>
    %add_d9bc = stablehlo.add %dot_general_2ce4, %broadcast_in_dim_d30b : tensor<16x64xf32>
    %multiply_41df = stablehlo.multiply %add_d9bc, %add_d9bc : tensor<16x64xf32>
    %multiply_ec1e = stablehlo.multiply %multiply_41df, %add_d9bc : tensor<16x64xf32>
    %c_0.044715_2b54 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_a465 = stablehlo.broadcast_in_dim %c_0.044715_2b54, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_8bb8 = stablehlo.multiply %broadcast_in_dim_a465, %multiply_ec1e : tensor<16x64xf32>
    %add_e7d2 = stablehlo.add %add_d9bc, %multiply_8bb8 : tensor<16x64xf32>
    %c_0.797885_5b56 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_02af = stablehlo.broadcast_in_dim %c_0.797885_5b56, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_dd02 = stablehlo.multiply %broadcast_in_dim_02af, %add_e7d2 : tensor<16x64xf32>
    %tanh_3b80 = stablehlo.tanh %multiply_dd02 : tensor<16x64xf32>
    %c_1_0b91 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_1874 = stablehlo.broadcast_in_dim %c_1_0b91, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %add_c5a5 = stablehlo.add %broadcast_in_dim_1874, %tanh_3b80 : tensor<16x64xf32>
    %c_0.5_5b7b = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_cba5 = stablehlo.broadcast_in_dim %c_0.5_5b7b, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_b9b6 = stablehlo.multiply %broadcast_in_dim_cba5, %add_c5a5 : tensor<16x64xf32>
    %multiply_1868 = stablehlo.multiply %add_d9bc, %multiply_b9b6 : tensor<16x64xf32>
    %add_d74e = stablehlo.add %arg2, %multiply_1868 : tensor<16x64xf32>
    %slice_1f78 = stablehlo.slice %arg0 [1:2, 0:64] : (tensor<6x64xf32>) -> tensor<1x64xf32>
    %reshape_1d60 = stablehlo.reshape %slice_1f78 : (tensor<1x64xf32>) -> tensor<64xf32>
    %slice_2deb = stablehlo.slice %arg1 [1:2, 0:64, 0:64] : (tensor<6x64x64xf32>) -> tensor<1x64x64xf32>
    %reshape_f1e5 = stablehlo.reshape %slice_2deb : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %multiply_2da6 = stablehlo.multiply %add_d74e, %add_d74e : tensor<16x64xf32>
    %c_0_af90 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_4d45 = stablehlo.reduce(%multiply_2da6 init: %c_0_af90) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %broadcast_in_dim_fcb7 = stablehlo.broadcast_in_dim %reduce_add_4d45, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %c_64_4284 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %broadcast_in_dim_09b4 = stablehlo.broadcast_in_dim %c_64_4284, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %divide_a3d9 = stablehlo.divide %broadcast_in_dim_fcb7, %broadcast_in_dim_09b4 : tensor<16x1xf32>
    %c_1e-06_db98 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %broadcast_in_dim_c724 = stablehlo.broadcast_in_dim %c_1e-06_db98, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %add_c23e = stablehlo.add %divide_a3d9, %broadcast_in_dim_c724 : tensor<16x1xf32>
    %rsqrt_f93f = stablehlo.rsqrt %add_c23e : tensor<16x1xf32>
    %broadcast_in_dim_dc9f = stablehlo.broadcast_in_dim %rsqrt_f93f, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %multiply_7fc2 = stablehlo.multiply %add_d74e, %broadcast_in_dim_dc9f : tensor<16x64xf32>
    %dot_general_f226 = stablehlo.dot_general %multiply_7fc2, %reshape_f1e5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %broadcast_in_dim_6b44 = stablehlo.broadcast_in_dim %reshape_1d60, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %broadcast_in_dim_b2fa = stablehlo.broadcast_in_dim %broadcast_in_dim_6b44, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<16x64xf32>
    %add_921b = stablehlo.add %dot_general_f226, %broadcast_in_dim_b2fa : tensor<16x64xf32>
    %multiply_bba2 = stablehlo.multiply %add_921b, %add_921b : tensor<16x64xf32>
    %multiply_9a0d = stablehlo.multiply %multiply_bba2, %add_921b : tensor<16x64xf32>
    %c_0.044715_8f67 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_33a9 = stablehlo.broadcast_in_dim %c_0.044715_8f67, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_594d = stablehlo.multiply %broadcast_in_dim_33a9, %multiply_9a0d : tensor<16x64xf32>
    %add_ee39 = stablehlo.add %add_921b, %multiply_594d : tensor<16x64xf32>
    %c_0.797885_8213 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_420c = stablehlo.broadcast_in_dim %c_0.797885_8213, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_91fc = stablehlo.multiply %broadcast_in_dim_420c, %add_ee39 : tensor<16x64xf32>
    %tanh_8aec = stablehlo.tanh %multiply_91fc : tensor<16x64xf32>
    %c_1_9508 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_e54b = stablehlo.broadcast_in_dim %c_1_9508, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %add_6d0c = stablehlo.add %broadcast_in_dim_e54b, %tanh_8aec : tensor<16x64xf32>
    %c_0.5_978d = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_07b4 = stablehlo.broadcast_in_dim %c_0.5_978d, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_987c = stablehlo.multiply %broadcast_in_dim_07b4, %add_6d0c : tensor<16x64xf32>
    %multiply_53d0 = stablehlo.multiply %add_921b, %multiply_987c : tensor<16x64xf32>
    %add_34af = stablehlo.add %add_d74e, %multiply_53d0 : tensor<16x64xf32>
    %slice_c5db_1 = stablehlo.slice %arg0 [2:3, 0:64] : (tensor<6x64xf32>) -> tensor<1x64xf32>
    %reshape_efe8 = stablehlo.reshape %slice_c5db_1 : (tensor<1x64xf32>) -> tensor<64xf32>
    %slice_0945 = stablehlo.slice %arg1 [2:3, 0:64, 0:64] : (tensor<6x64x64xf32>) -> tensor<1x64x64xf32>
    %reshape_c28d = stablehlo.reshape %slice_0945 : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %multiply_06b7 = stablehlo.multiply %add_34af, %add_34af : tensor<16x64xf32>
    %c_0_dfa4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_7f55 = stablehlo.reduce(%multiply_06b7 init: %c_0_dfa4) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %broadcast_in_dim_7a32 = stablehlo.broadcast_in_dim %reduce_add_7f55, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %c_64_ffd8 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %broadcast_in_dim_7caf = stablehlo.broadcast_in_dim %c_64_ffd8, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %divide_ec57 = stablehlo.divide %broadcast_in_dim_7a32, %broadcast_in_dim_7caf : tensor<16x1xf32>
    %c_1e-06_c6f5 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %broadcast_in_dim_8c02 = stablehlo.broadcast_in_dim %c_1e-06_c6f5, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %add_c296 = stablehlo.add %divide_ec57, %broadcast_in_dim_8c02 : tensor<16x1xf32>
    %rsqrt_c499 = stablehlo.rsqrt %add_c296 : tensor<16x1xf32>
    %broadcast_in_dim_e192 = stablehlo.broadcast_in_dim %rsqrt_c499, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %multiply_5ff6 = stablehlo.multiply %add_34af, %broadcast_in_dim_e192 : tensor<16x64xf32>
    %dot_general_af75 = stablehlo.dot_general %multiply_5ff6, %reshape_c28d, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %broadcast_in_dim_c7a2 = stablehlo.broadcast_in_dim %reshape_efe8, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %broadcast_in_dim_b093 = stablehlo.broadcast_in_dim %broadcast_in_dim_c7a2, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<16x64xf32>
    %add_fc66 = stablehlo.add %dot_general_af75, %broadcast_in_dim_b093 : tensor<16x64xf32>
    %multiply_b862 = stablehlo.multiply %add_fc66, %add_fc66 : tensor<16x64xf32>
    %multiply_f369 = stablehlo.multiply %multiply_b862, %add_fc66 : tensor<16x64xf32>
    %c_0.044715_d1d4_1 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_21a9 = stablehlo.broadcast_in_dim %c_0.044715_d1d4_1, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_10c2 = stablehlo.multiply %broadcast_in_dim_21a9, %multiply_f369 : tensor<16x64xf32>
    %add_3d73 = stablehlo.add %add_fc66, %multiply_10c2 : tensor<16x64xf32>
    %c_0.797885_da21_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_b69f = stablehlo.broadcast_in_dim %c_0.797885_da21_1, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_8936 = stablehlo.multiply %broadcast_in_dim_b69f, %add_3d73 : tensor<16x64xf32>
    %tanh_a98d = stablehlo.tanh %multiply_8936 : tensor<16x64xf32>
    %c_1_b9ca = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_a1ce = stablehlo.broadcast_in_dim %c_1_b9ca, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %add_f79b = stablehlo.add %broadcast_in_dim_a1ce, %tanh_a98d : tensor<16x64xf32>
    %c_0.5_d04f = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_480f = stablehlo.broadcast_in_dim %c_0.5_d04f, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_f791 = stablehlo.multiply %broadcast_in_dim_480f, %add_f79b : tensor<16x64xf32>
    %multiply_7de8 = stablehlo.multiply %add_fc66, %multiply_f791 : tensor<16x64xf32>
    %add_6781 = stablehlo.add %add_34af, %multiply_7de8 : tensor<16x64xf32>
    %slice_c5db_2 = stablehlo.slice %arg0 [3:4, 0:64] : (tensor<6x64xf32>) -> tensor<1x64xf32>
    %reshape_ab2b = stablehlo.reshape %slice_c5db_2 : (tensor<1x64xf32>) -> tensor<64xf32>
    %slice_f1ec = stablehlo.slice %arg1 [3:4, 0:64, 0:64] : (tensor<6x64x64xf32>) -> tensor<1x64x64xf32>
    %reshape_d237 = stablehlo.reshape %slice_f1ec : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %multiply_f634 = stablehlo.multiply %add_6781, %add_6781 : tensor<16x64xf32>
    %c_0_0a7b = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_b9dc = stablehlo.reduce(%multiply_f634 init: %c_0_0a7b) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %broadcast_in_dim_4d75 = stablehlo.broadcast_in_dim %reduce_add_b9dc, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %c_64_c2d0_1 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %broadcast_in_dim_6acd = stablehlo.broadcast_in_dim %c_64_c2d0_1, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %divide_9003 = stablehlo.divide %broadcast_in_dim_4d75, %broadcast_in_dim_6acd : tensor<16x1xf32>
    %c_1e-06_3e70_1 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %broadcast_in_dim_b381 = stablehlo.broadcast_in_dim %c_1e-06_3e70_1, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %add_9233 = stablehlo.add %divide_9003, %broadcast_in_dim_b381 : tensor<16x1xf32>
    %rsqrt_788f = stablehlo.rsqrt %add_9233 : tensor<16x1xf32>
    %broadcast_in_dim_2960 = stablehlo.broadcast_in_dim %rsqrt_788f, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %multiply_7588 = stablehlo.multiply %add_6781, %broadcast_in_dim_2960 : tensor<16x64xf32>
    %dot_general_64c5 = stablehlo.dot_general %multiply_7588, %reshape_d237, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %broadcast_in_dim_06ec = stablehlo.broadcast_in_dim %reshape_ab2b, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %broadcast_in_dim_c1d2 = stablehlo.broadcast_in_dim %broadcast_in_dim_06ec, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<16x64xf32>
    %add_fd9a = stablehlo.add %dot_general_64c5, %broadcast_in_dim_c1d2 : tensor<16x64xf32>
    %multiply_7fc6 = stablehlo.multiply %add_fd9a, %add_fd9a : tensor<16x64xf32>
    %multiply_8141 = stablehlo.multiply %multiply_7fc6, %add_fd9a : tensor<16x64xf32>
    %c_0.044715_d1d4_2 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_0d6f = stablehlo.broadcast_in_dim %c_0.044715_d1d4_2, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_7f70 = stablehlo.multiply %broadcast_in_dim_0d6f, %multiply_8141 : tensor<16x64xf32>
    %add_9720 = stablehlo.add %add_fd9a, %multiply_7f70 : tensor<16x64xf32>
    %c_0.797885_da21_2 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_7871 = stablehlo.broadcast_in_dim %c_0.797885_da21_2, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_21ca = stablehlo.multiply %broadcast_in_dim_7871, %add_9720 : tensor<16x64xf32>
    %tanh_4d66 = stablehlo.tanh %multiply_21ca : tensor<16x64xf32>
    %c_1_4ac7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_996c = stablehlo.broadcast_in_dim %c_1_4ac7, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %add_e3f6 = stablehlo.add %broadcast_in_dim_996c, %tanh_4d66 : tensor<16x64xf32>
    %c_0.5_29c6 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_0b1d = stablehlo.broadcast_in_dim %c_0.5_29c6, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_2792 = stablehlo.multiply %broadcast_in_dim_0b1d, %add_e3f6 : tensor<16x64xf32>
    %multiply_0cf7 = stablehlo.multiply %add_fd9a, %multiply_2792 : tensor<16x64xf32>
    %add_10d4 = stablehlo.add %add_6781, %multiply_0cf7 : tensor<16x64xf32>
    %slice_d9f5 = stablehlo.slice %arg0 [4:5, 0:64] : (tensor<6x64xf32>) -> tensor<1x64xf32>
    %reshape_a3fe = stablehlo.reshape %slice_d9f5 : (tensor<1x64xf32>) -> tensor<64xf32>
    %slice_4a7b = stablehlo.slice %arg1 [4:5, 0:64, 0:64] : (tensor<6x64x64xf32>) -> tensor<1x64x64xf32>
    %reshape_e75f = stablehlo.reshape %slice_4a7b : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %multiply_7404 = stablehlo.multiply %add_10d4, %add_10d4 : tensor<16x64xf32>
    %c_0_9ccb = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_d05c = stablehlo.reduce(%multiply_7404 init: %c_0_9ccb) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %broadcast_in_dim_786c = stablehlo.broadcast_in_dim %reduce_add_d05c, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %c_64_c2d0_2 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %broadcast_in_dim_bee6 = stablehlo.broadcast_in_dim %c_64_c2d0_2, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %divide_f71e = stablehlo.divide %broadcast_in_dim_786c, %broadcast_in_dim_bee6 : tensor<16x1xf32>
    %c_1e-06_3e70_2 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %broadcast_in_dim_f960 = stablehlo.broadcast_in_dim %c_1e-06_3e70_2, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %add_0d40 = stablehlo.add %divide_f71e, %broadcast_in_dim_f960 : tensor<16x1xf32>
    %rsqrt_8d86 = stablehlo.rsqrt %add_0d40 : tensor<16x1xf32>
    %broadcast_in_dim_5d0e = stablehlo.broadcast_in_dim %rsqrt_8d86, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %multiply_4dd7 = stablehlo.multiply %add_10d4, %broadcast_in_dim_5d0e : tensor<16x64xf32>
    %dot_general_b320 = stablehlo.dot_general %multiply_4dd7, %reshape_e75f, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %broadcast_in_dim_38a7 = stablehlo.broadcast_in_dim %reshape_a3fe, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %broadcast_in_dim_136c = stablehlo.broadcast_in_dim %broadcast_in_dim_38a7, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<16x64xf32>
    %add_42a0 = stablehlo.add %dot_general_b320, %broadcast_in_dim_136c : tensor<16x64xf32>
    %multiply_2aa1 = stablehlo.multiply %add_42a0, %add_42a0 : tensor<16x64xf32>
    %multiply_41aa = stablehlo.multiply %multiply_2aa1, %add_42a0 : tensor<16x64xf32>
    %c_0.044715_68d0 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_a412 = stablehlo.broadcast_in_dim %c_0.044715_68d0, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_2021 = stablehlo.multiply %broadcast_in_dim_a412, %multiply_41aa : tensor<16x64xf32>
    %add_c6b4 = stablehlo.add %add_42a0, %multiply_2021 : tensor<16x64xf32>
    %c_0.797885_30fb = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_a4a0 = stablehlo.broadcast_in_dim %c_0.797885_30fb, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_709a = stablehlo.multiply %broadcast_in_dim_a4a0, %add_c6b4 : tensor<16x64xf32>
    %tanh_9903 = stablehlo.tanh %multiply_709a : tensor<16x64xf32>
    %c_1_e222 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_f9f1 = stablehlo.broadcast_in_dim %c_1_e222, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %add_5d35 = stablehlo.add %broadcast_in_dim_f9f1, %tanh_9903 : tensor<16x64xf32>
    %c_0.5_ff3d = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_3cc7 = stablehlo.broadcast_in_dim %c_0.5_ff3d, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_8432 = stablehlo.multiply %broadcast_in_dim_3cc7, %add_5d35 : tensor<16x64xf32>
    %multiply_5c43 = stablehlo.multiply %add_42a0, %multiply_8432 : tensor<16x64xf32>
    %add_8451 = stablehlo.add %add_10d4, %multiply_5c43 : tensor<16x64xf32>
    %slice_4c58 = stablehlo.slice %arg0 [5:6, 0:64] : (tensor<6x64xf32>) -> tensor<1x64xf32>
    %reshape_6569 = stablehlo.reshape %slice_4c58 : (tensor<1x64xf32>) -> tensor<64xf32>
    %slice_df12 = stablehlo.slice %arg1 [5:6, 0:64, 0:64] : (tensor<6x64x64xf32>) -> tensor<1x64x64xf32>
    %reshape_e854 = stablehlo.reshape %slice_df12 : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %multiply_1d98 = stablehlo.multiply %add_8451, %add_8451 : tensor<16x64xf32>
    %c_0_717c = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_5b8a = stablehlo.reduce(%multiply_1d98 init: %c_0_717c) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %broadcast_in_dim_32cb = stablehlo.broadcast_in_dim %reduce_add_5b8a, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %c_64_808c = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %broadcast_in_dim_af53 = stablehlo.broadcast_in_dim %c_64_808c, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %divide_f9db = stablehlo.divide %broadcast_in_dim_32cb, %broadcast_in_dim_af53 : tensor<16x1xf32>
    %c_1e-06_b2fd = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %broadcast_in_dim_8a13 = stablehlo.broadcast_in_dim %c_1e-06_b2fd, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %add_a395 = stablehlo.add %divide_f9db, %broadcast_in_dim_8a13 : tensor<16x1xf32>
    %rsqrt_83a0 = stablehlo.rsqrt %add_a395 : tensor<16x1xf32>
    %broadcast_in_dim_fd2e = stablehlo.broadcast_in_dim %rsqrt_83a0, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %multiply_9e3a = stablehlo.multiply %add_8451, %broadcast_in_dim_fd2e : tensor<16x64xf32>
    %dot_general_fd79 = stablehlo.dot_general %multiply_9e3a, %reshape_e854, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %broadcast_in_dim_206b = stablehlo.broadcast_in_dim %reshape_6569, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %broadcast_in_dim_f7ba = stablehlo.broadcast_in_dim %broadcast_in_dim_206b, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<16x64xf32>
    %add_2853 = stablehlo.add %dot_general_fd79, %broadcast_in_dim_f7ba : tensor<16x64xf32>
    %multiply_bd1c = stablehlo.multiply %add_2853, %add_2853 : tensor<16x64xf32>
    %multiply_0a49 = stablehlo.multiply %multiply_bd1c, %add_2853 : tensor<16x64xf32>
    %c_0.044715_d384 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_03a1 = stablehlo.broadcast_in_dim %c_0.044715_d384, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_f314 = stablehlo.multiply %broadcast_in_dim_03a1, %multiply_0a49 : tensor<16x64xf32>
    %add_df31 = stablehlo.add %add_2853, %multiply_f314 : tensor<16x64xf32>
    %c_0.797885_7347 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_cde3 = stablehlo.broadcast_in_dim %c_0.797885_7347, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_05f1 = stablehlo.multiply %broadcast_in_dim_cde3, %add_df31 : tensor<16x64xf32>
    %tanh_d708 = stablehlo.tanh %multiply_05f1 : tensor<16x64xf32>
    %c_1_37d3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_8cc2 = stablehlo.broadcast_in_dim %c_1_37d3, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %add_6691 = stablehlo.add %broadcast_in_dim_8cc2, %tanh_d708 : tensor<16x64xf32>
    %c_0.5_e278 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_a33a = stablehlo.broadcast_in_dim %c_0.5_e278, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_700a = stablehlo.multiply %broadcast_in_dim_a33a, %add_6691 : tensor<16x64xf32>
    %multiply_eb5e = stablehlo.multiply %add_2853, %multiply_700a : tensor<16x64xf32>
    %add_76aa = stablehlo.add %add_8451, %multiply_eb5e : tensor<16x64xf32>
    return %add_76aa : tensor<16x64xf32>
  }
}
