module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<64x128xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<128x10xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<i32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<128xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<64x128xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<128x10xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<128xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<64x128xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<128x10xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<32x64xf32>, %arg11: tensor<32xi32>) -> (tensor<128xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<i32>, tensor<128xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<128xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<f32>) {
    %dot_general_d938 = stablehlo.dot_general %arg10, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x128xf32>) -> tensor<32x128xf32>
    %broadcast_in_dim_8cde = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<128xf32>) -> tensor<1x128xf32>
    %broadcast_in_dim_6455 = stablehlo.broadcast_in_dim %broadcast_in_dim_8cde, dims = [0, 1] : (tensor<1x128xf32>) -> tensor<32x128xf32>
    %add_8d3d = stablehlo.add %dot_general_d938, %broadcast_in_dim_6455 : tensor<32x128xf32>
    %tanh = stablehlo.tanh %add_8d3d : tensor<32x128xf32>
    %c_1_d7e6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_61d2 = stablehlo.broadcast_in_dim %c_1_d7e6, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %subtract_92aa = stablehlo.subtract %broadcast_in_dim_61d2, %tanh : tensor<32x128xf32>
    %dot_general_a9b2 = stablehlo.dot_general %tanh, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x128xf32>, tensor<128x10xf32>) -> tensor<32x10xf32>
    %broadcast_in_dim_c49e = stablehlo.broadcast_in_dim %arg11, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
    %call_e067:2 = call @select_de2bd4(%dot_general_a9b2, %broadcast_in_dim_c49e) : (tensor<32x10xf32>, tensor<32x1xi32>) -> (tensor<32x1xf32>, tensor<32x1x1xi32>)
    %c_0_4c11 = stablehlo.constant dense<0> : tensor<i32>
    %call_da11:2 = call @select_61bc2f(%call_e067#0, %c_0_4c11) : (tensor<32x1xf32>, tensor<i32>) -> (tensor<32xf32>, tensor<1xi32>)
    %c_0xFF800000_d489 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %reduce_maximum = stablehlo.reduce(%dot_general_a9b2 init: %c_0xFF800000_d489) applies stablehlo.maximum across dimensions = [1] : (tensor<32x10xf32>, tensor<f32>) -> tensor<32xf32>
    %c_0xFF800000_4784 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %broadcast_in_dim_4bcf = stablehlo.broadcast_in_dim %c_0xFF800000_4784, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %maximum = stablehlo.maximum %broadcast_in_dim_4bcf, %reduce_maximum : tensor<32xf32>
    %is_finite = stablehlo.is_finite %maximum : (tensor<32xf32>) -> tensor<32xi1>
    %c_0_78a8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_52a4 = stablehlo.broadcast_in_dim %c_0_78a8, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %select_08bf = stablehlo.select %is_finite, %maximum, %broadcast_in_dim_52a4 : tensor<32xi1>, tensor<32xf32>
    %broadcast_in_dim_400a = stablehlo.broadcast_in_dim %select_08bf, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %broadcast_in_dim_0810 = stablehlo.broadcast_in_dim %broadcast_in_dim_400a, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x10xf32>
    %subtract_e1ed = stablehlo.subtract %dot_general_a9b2, %broadcast_in_dim_0810 : tensor<32x10xf32>
    %exponential = stablehlo.exponential %subtract_e1ed : tensor<32x10xf32>
    %c_0_46c7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_e89a = stablehlo.reduce(%exponential init: %c_0_46c7) applies stablehlo.add across dimensions = [1] : (tensor<32x10xf32>, tensor<f32>) -> tensor<32xf32>
    %abs = stablehlo.abs %reduce_add_e89a : tensor<32xf32>
    %c_0_6f5f = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_7075 = stablehlo.broadcast_in_dim %c_0_6f5f, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %compare_5a19 = stablehlo.compare GE, %reduce_add_e89a, %broadcast_in_dim_7075, FLOAT : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xi1>
    %log = stablehlo.log %abs : tensor<32xf32>
    %add_def8 = stablehlo.add %log, %select_08bf : tensor<32xf32>
    %subtract_3ee6 = stablehlo.subtract %add_def8, %call_da11#0 : tensor<32xf32>
    %c_0_3fbe = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_b92b = stablehlo.reduce(%subtract_3ee6 init: %c_0_3fbe) applies stablehlo.add across dimensions = [0] : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
    %c_32_a4a1 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %divide_eba3 = stablehlo.divide %reduce_add_b92b, %c_32_a4a1 : tensor<f32>
    %c_1_fdf5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_32_5d60 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %divide_5a42 = stablehlo.divide %c_1_fdf5, %c_32_5d60 : tensor<f32>
    %broadcast_in_dim_844b = stablehlo.broadcast_in_dim %divide_5a42, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %negate_f7a2 = stablehlo.negate %broadcast_in_dim_844b : tensor<32xf32>
    %divide_e8bc = stablehlo.divide %broadcast_in_dim_844b, %abs : tensor<32xf32>
    %c_0_c54a = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_13b5 = stablehlo.broadcast_in_dim %c_0_c54a, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %select_c5ae = stablehlo.select %compare_5a19, %broadcast_in_dim_13b5, %divide_e8bc : tensor<32xi1>, tensor<32xf32>
    %select_f0a3 = stablehlo.select %compare_5a19, %divide_e8bc, %broadcast_in_dim_13b5 : tensor<32xi1>, tensor<32xf32>
    %negate_3226 = stablehlo.negate %select_c5ae : tensor<32xf32>
    %add_669c = stablehlo.add %select_f0a3, %negate_3226 : tensor<32xf32>
    %broadcast_in_dim_95da = stablehlo.broadcast_in_dim %add_669c, dims = [0] : (tensor<32xf32>) -> tensor<32x10xf32>
    %multiply_16a1 = stablehlo.multiply %broadcast_in_dim_95da, %exponential : tensor<32x10xf32>
    %call_1866 = call @scatter_aa74da(%call_da11#1, %negate_f7a2) : (tensor<1xi32>, tensor<32xf32>) -> tensor<32x1xf32>
    %call_c0c5 = call @scatter_8db000(%call_e067#1, %call_1866) : (tensor<32x1x1xi32>, tensor<32x1xf32>) -> tensor<32x10xf32>
    %add_9c76 = stablehlo.add %multiply_16a1, %call_c0c5 : tensor<32x10xf32>
    %dot_general_9a93 = stablehlo.dot_general %add_9c76, %tanh, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x10xf32>, tensor<32x128xf32>) -> tensor<10x128xf32>
    %transpose_2258 = stablehlo.transpose %dot_general_9a93, dims = [1, 0] : (tensor<10x128xf32>) -> tensor<128x10xf32>
    %dot_general_c763 = stablehlo.dot_general %add_9c76, %arg2, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x10xf32>, tensor<128x10xf32>) -> tensor<32x128xf32>
    %multiply_6bd7 = stablehlo.multiply %dot_general_c763, %subtract_92aa : tensor<32x128xf32>
    %multiply_607c = stablehlo.multiply %multiply_6bd7, %tanh : tensor<32x128xf32>
    %add_d26c = stablehlo.add %multiply_6bd7, %multiply_607c : tensor<32x128xf32>
    %c_0_162b = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_16e0 = stablehlo.reduce(%add_d26c init: %c_0_162b) applies stablehlo.add across dimensions = [0] : (tensor<32x128xf32>, tensor<f32>) -> tensor<128xf32>
    %reshape = stablehlo.reshape %reduce_add_16e0 : (tensor<128xf32>) -> tensor<1x128xf32>
    %c_0_b306 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_8b4c = stablehlo.reduce(%reshape init: %c_0_b306) applies stablehlo.add across dimensions = [0] : (tensor<1x128xf32>, tensor<f32>) -> tensor<128xf32>
    %dot_general_605c = stablehlo.dot_general %add_d26c, %arg10, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x128xf32>, tensor<32x64xf32>) -> tensor<128x64xf32>
    %transpose_822e = stablehlo.transpose %dot_general_605c, dims = [1, 0] : (tensor<128x64xf32>) -> tensor<64x128xf32>
    %c_0.1_2279 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_f6c1 = stablehlo.broadcast_in_dim %c_0.1_2279, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_b819 = stablehlo.multiply %broadcast_in_dim_f6c1, %reduce_add_8b4c : tensor<128xf32>
    %c_0.9_3a00 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_7046 = stablehlo.broadcast_in_dim %c_0.9_3a00, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_6c49 = stablehlo.multiply %broadcast_in_dim_7046, %arg4 : tensor<128xf32>
    %add_2d0f = stablehlo.add %multiply_b819, %multiply_6c49 : tensor<128xf32>
    %c_0.1_707f = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_54ba = stablehlo.broadcast_in_dim %c_0.1_707f, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %multiply_48c5 = stablehlo.multiply %broadcast_in_dim_54ba, %transpose_822e : tensor<64x128xf32>
    %c_0.9_f99e = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_8d21 = stablehlo.broadcast_in_dim %c_0.9_f99e, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %multiply_cd01 = stablehlo.multiply %broadcast_in_dim_8d21, %arg5 : tensor<64x128xf32>
    %add_4f10 = stablehlo.add %multiply_48c5, %multiply_cd01 : tensor<64x128xf32>
    %c_0.1_b62d = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_e61b = stablehlo.broadcast_in_dim %c_0.1_b62d, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %multiply_a5fb = stablehlo.multiply %broadcast_in_dim_e61b, %transpose_2258 : tensor<128x10xf32>
    %c_0.9_af1c = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_7938 = stablehlo.broadcast_in_dim %c_0.9_af1c, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %multiply_42ad = stablehlo.multiply %broadcast_in_dim_7938, %arg6 : tensor<128x10xf32>
    %add_0ba4 = stablehlo.add %multiply_a5fb, %multiply_42ad : tensor<128x10xf32>
    %multiply_9a13 = stablehlo.multiply %reduce_add_8b4c, %reduce_add_8b4c : tensor<128xf32>
    %c_0.001_9617 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_cd65 = stablehlo.broadcast_in_dim %c_0.001_9617, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_8fee = stablehlo.multiply %broadcast_in_dim_cd65, %multiply_9a13 : tensor<128xf32>
    %c_0.999_5ded = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %broadcast_in_dim_d534 = stablehlo.broadcast_in_dim %c_0.999_5ded, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_1a43 = stablehlo.multiply %broadcast_in_dim_d534, %arg7 : tensor<128xf32>
    %add_316a = stablehlo.add %multiply_8fee, %multiply_1a43 : tensor<128xf32>
    %multiply_1f7e = stablehlo.multiply %transpose_822e, %transpose_822e : tensor<64x128xf32>
    %c_0.001_b544 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_46c8 = stablehlo.broadcast_in_dim %c_0.001_b544, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %multiply_6f07 = stablehlo.multiply %broadcast_in_dim_46c8, %multiply_1f7e : tensor<64x128xf32>
    %c_0.999_4519 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %broadcast_in_dim_cacf = stablehlo.broadcast_in_dim %c_0.999_4519, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %multiply_2984 = stablehlo.multiply %broadcast_in_dim_cacf, %arg8 : tensor<64x128xf32>
    %add_e95e = stablehlo.add %multiply_6f07, %multiply_2984 : tensor<64x128xf32>
    %multiply_6c72 = stablehlo.multiply %transpose_2258, %transpose_2258 : tensor<128x10xf32>
    %c_0.001_0e76 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_fa87 = stablehlo.broadcast_in_dim %c_0.001_0e76, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %multiply_b2fb = stablehlo.multiply %broadcast_in_dim_fa87, %multiply_6c72 : tensor<128x10xf32>
    %c_0.999_88f3 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %broadcast_in_dim_c0ae = stablehlo.broadcast_in_dim %c_0.999_88f3, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %multiply_d154 = stablehlo.multiply %broadcast_in_dim_c0ae, %arg9 : tensor<128x10xf32>
    %add_5cb1 = stablehlo.add %multiply_b2fb, %multiply_d154 : tensor<128x10xf32>
    %c_2.14748e09_0981 = stablehlo.constant dense<2147483647> : tensor<i32>
    %compare_a911 = stablehlo.compare LT, %arg3, %c_2.14748e09_0981, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_1_3606 = stablehlo.constant dense<1> : tensor<i32>
    %add_b201 = stablehlo.add %arg3, %c_1_3606 : tensor<i32>
    %c_2.14748e09_98d1 = stablehlo.constant dense<2147483647> : tensor<i32>
    %call_4a7a = call @select_eb84ca(%compare_a911, %add_b201, %c_2.14748e09_98d1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %c_0.9_ab99 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %convert_e5c3 = stablehlo.convert %call_4a7a : (tensor<i32>) -> tensor<f32>
    %power_b50d = stablehlo.power %c_0.9_ab99, %convert_e5c3 : tensor<f32>
    %c_1_15fb = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %subtract_155a = stablehlo.subtract %c_1_15fb, %power_b50d : tensor<f32>
    %broadcast_in_dim_9a07 = stablehlo.broadcast_in_dim %subtract_155a, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %divide_d9c3 = stablehlo.divide %add_2d0f, %broadcast_in_dim_9a07 : tensor<128xf32>
    %broadcast_in_dim_068b = stablehlo.broadcast_in_dim %subtract_155a, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %divide_7fb4 = stablehlo.divide %add_4f10, %broadcast_in_dim_068b : tensor<64x128xf32>
    %broadcast_in_dim_4b51 = stablehlo.broadcast_in_dim %subtract_155a, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %divide_ffd5 = stablehlo.divide %add_0ba4, %broadcast_in_dim_4b51 : tensor<128x10xf32>
    %c_0.999_fe02 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %convert_33cd = stablehlo.convert %call_4a7a : (tensor<i32>) -> tensor<f32>
    %power_b303 = stablehlo.power %c_0.999_fe02, %convert_33cd : tensor<f32>
    %c_1_970d = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %subtract_1fa9 = stablehlo.subtract %c_1_970d, %power_b303 : tensor<f32>
    %broadcast_in_dim_929a = stablehlo.broadcast_in_dim %subtract_1fa9, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %divide_4dd3 = stablehlo.divide %add_316a, %broadcast_in_dim_929a : tensor<128xf32>
    %broadcast_in_dim_1377 = stablehlo.broadcast_in_dim %subtract_1fa9, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %divide_90d6 = stablehlo.divide %add_e95e, %broadcast_in_dim_1377 : tensor<64x128xf32>
    %broadcast_in_dim_04b9 = stablehlo.broadcast_in_dim %subtract_1fa9, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %divide_7916 = stablehlo.divide %add_5cb1, %broadcast_in_dim_04b9 : tensor<128x10xf32>
    %c_0_d4ef = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_a399 = stablehlo.broadcast_in_dim %c_0_d4ef, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %add_f8e2 = stablehlo.add %divide_4dd3, %broadcast_in_dim_a399 : tensor<128xf32>
    %sqrt_af08 = stablehlo.sqrt %add_f8e2 : tensor<128xf32>
    %c_1e-08_94fb = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %broadcast_in_dim_ecad = stablehlo.broadcast_in_dim %c_1e-08_94fb, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %add_d7a5 = stablehlo.add %sqrt_af08, %broadcast_in_dim_ecad : tensor<128xf32>
    %divide_3695 = stablehlo.divide %divide_d9c3, %add_d7a5 : tensor<128xf32>
    %c_0_eb3c = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_5545 = stablehlo.broadcast_in_dim %c_0_eb3c, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %add_b047 = stablehlo.add %divide_90d6, %broadcast_in_dim_5545 : tensor<64x128xf32>
    %sqrt_8e1b = stablehlo.sqrt %add_b047 : tensor<64x128xf32>
    %c_1e-08_638d = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %broadcast_in_dim_9ed2 = stablehlo.broadcast_in_dim %c_1e-08_638d, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %add_54cf = stablehlo.add %sqrt_8e1b, %broadcast_in_dim_9ed2 : tensor<64x128xf32>
    %divide_2ccc = stablehlo.divide %divide_7fb4, %add_54cf : tensor<64x128xf32>
    %c_0_387f = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_a61a = stablehlo.broadcast_in_dim %c_0_387f, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %add_dcf6 = stablehlo.add %divide_7916, %broadcast_in_dim_a61a : tensor<128x10xf32>
    %sqrt_43dc = stablehlo.sqrt %add_dcf6 : tensor<128x10xf32>
    %c_1e-08_8554 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %broadcast_in_dim_c86d = stablehlo.broadcast_in_dim %c_1e-08_8554, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %add_d64f = stablehlo.add %sqrt_43dc, %broadcast_in_dim_c86d : tensor<128x10xf32>
    %divide_c6c9 = stablehlo.divide %divide_ffd5, %add_d64f : tensor<128x10xf32>
    %c_0.0001_dcea = stablehlo.constant dense<9.99999974E-5> : tensor<f32>
    %broadcast_in_dim_ddcb = stablehlo.broadcast_in_dim %c_0.0001_dcea, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_c56a = stablehlo.multiply %broadcast_in_dim_ddcb, %arg0 : tensor<128xf32>
    %add_a8c8 = stablehlo.add %divide_3695, %multiply_c56a : tensor<128xf32>
    %c_0.0001_7493 = stablehlo.constant dense<9.99999974E-5> : tensor<f32>
    %broadcast_in_dim_204f = stablehlo.broadcast_in_dim %c_0.0001_7493, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %multiply_62fe = stablehlo.multiply %broadcast_in_dim_204f, %arg1 : tensor<64x128xf32>
    %add_ae28 = stablehlo.add %divide_2ccc, %multiply_62fe : tensor<64x128xf32>
    %c_0.0001_13d2 = stablehlo.constant dense<9.99999974E-5> : tensor<f32>
    %broadcast_in_dim_95c2 = stablehlo.broadcast_in_dim %c_0.0001_13d2, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %multiply_e8fe = stablehlo.multiply %broadcast_in_dim_95c2, %arg2 : tensor<128x10xf32>
    %add_1c24 = stablehlo.add %divide_c6c9, %multiply_e8fe : tensor<128x10xf32>
    %c_-0.001_25ee = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %broadcast_in_dim_0e9b = stablehlo.broadcast_in_dim %c_-0.001_25ee, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_71e8 = stablehlo.multiply %broadcast_in_dim_0e9b, %add_a8c8 : tensor<128xf32>
    %c_-0.001_4549 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %broadcast_in_dim_6820 = stablehlo.broadcast_in_dim %c_-0.001_4549, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %multiply_64b8 = stablehlo.multiply %broadcast_in_dim_6820, %add_ae28 : tensor<64x128xf32>
    %c_-0.001_ef2a = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %broadcast_in_dim_1e75 = stablehlo.broadcast_in_dim %c_-0.001_ef2a, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %multiply_baea = stablehlo.multiply %broadcast_in_dim_1e75, %add_1c24 : tensor<128x10xf32>
    %add_42af = stablehlo.add %arg0, %multiply_71e8 : tensor<128xf32>
    %add_f720 = stablehlo.add %arg1, %multiply_64b8 : tensor<64x128xf32>
    %add_6271 = stablehlo.add %arg2, %multiply_baea : tensor<128x10xf32>
    return %add_42af, %add_f720, %add_6271, %call_4a7a, %add_2d0f, %add_4f10, %add_0ba4, %add_316a, %add_e95e, %add_5cb1, %divide_eba3 : tensor<128xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<i32>, tensor<128xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<128xf32>, tensor<64x128xf32>, tensor<128x10xf32>, tensor<f32>
  }
  func.func private @select_de2bd4(%arg0: tensor<32x10xf32>, %arg1: tensor<32x1xi32>) -> (tensor<32x1xf32>, tensor<32x1x1xi32>) {
    %c_0_447a = stablehlo.constant dense<0> : tensor<i32>
    %broadcast_in_dim_0781 = stablehlo.broadcast_in_dim %c_0_447a, dims = [] : (tensor<i32>) -> tensor<32x1xi32>
    %compare_d76d = stablehlo.compare LT, %arg1, %broadcast_in_dim_0781, SIGNED : (tensor<32x1xi32>, tensor<32x1xi32>) -> tensor<32x1xi1>
    %c_10 = stablehlo.constant dense<10> : tensor<i32>
    %broadcast_in_dim_03b2 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<32x1xi32>
    %add = stablehlo.add %arg1, %broadcast_in_dim_03b2 : tensor<32x1xi32>
    %select_546a = stablehlo.select %compare_d76d, %add, %arg1 : tensor<32x1xi1>, tensor<32x1xi32>
    %reshape = stablehlo.reshape %select_546a : (tensor<32x1xi32>) -> tensor<32x1x1xi32>
    %c_9 = stablehlo.constant dense<9> : tensor<1xi32>
    %c_0_26c1 = stablehlo.constant dense<0> : tensor<i32>
    %broadcast_in_dim_356c = stablehlo.broadcast_in_dim %c_0_26c1, dims = [] : (tensor<i32>) -> tensor<32x1x1xi32>
    %compare_a1fc = stablehlo.compare GE, %reshape, %broadcast_in_dim_356c, SIGNED : (tensor<32x1x1xi32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi1>
    %broadcast_in_dim_5d8c = stablehlo.broadcast_in_dim %c_9, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %broadcast_in_dim_b1c0 = stablehlo.broadcast_in_dim %broadcast_in_dim_5d8c, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<32x1x1xi32>
    %compare_a2e3 = stablehlo.compare LE, %reshape, %broadcast_in_dim_b1c0, SIGNED : (tensor<32x1x1xi32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi1>
    %and = stablehlo.and %compare_a1fc, %compare_a2e3 : tensor<32x1x1xi1>
    %c_true = stablehlo.constant dense<true> : tensor<i1>
    %reduce_and = stablehlo.reduce(%and init: %c_true) applies stablehlo.and across dimensions = [2] : (tensor<32x1x1xi1>, tensor<i1>) -> tensor<32x1xi1>
    %gather = "stablehlo.gather"(%arg0, %reshape) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<32x10xf32>, tensor<32x1x1xi32>) -> tensor<32x1xf32>
    %c_0x7FC00000 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_66a6 = stablehlo.broadcast_in_dim %c_0x7FC00000, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %select_8c2e = stablehlo.select %reduce_and, %gather, %broadcast_in_dim_66a6 : tensor<32x1xi1>, tensor<32x1xf32>
    return %select_8c2e, %reshape : tensor<32x1xf32>, tensor<32x1x1xi32>
  }
  func.func private @select_61bc2f(%arg0: tensor<32x1xf32>, %arg1: tensor<i32>) -> (tensor<32xf32>, tensor<1xi32>) {
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
    %gather = "stablehlo.gather"(%arg0, %convert) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1]>, indices_are_sorted = false, slice_sizes = array<i64: 32, 1>}> : (tensor<32x1xf32>, tensor<1xi32>) -> tensor<32xf32>
    %broadcast_in_dim_38ce = stablehlo.broadcast_in_dim %reduce_and, dims = [] : (tensor<i1>) -> tensor<32xi1>
    %c_0x7FC00000 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_66a6 = stablehlo.broadcast_in_dim %c_0x7FC00000, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %select = stablehlo.select %broadcast_in_dim_38ce, %gather, %broadcast_in_dim_66a6 : tensor<32xi1>, tensor<32xf32>
    return %select, %broadcast_in_dim_8529 : tensor<32xf32>, tensor<1xi32>
  }
  func.func private @select_eb84ca(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %select = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %select : tensor<i32>
  }
  func.func private @scatter_aa74da(%arg0: tensor<1xi32>, %arg1: tensor<32xf32>) -> tensor<32x1xf32> {
    %c_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %scatter = "stablehlo.scatter"(%broadcast_in_dim, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = false}> ({
    ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
      %in_add = stablehlo.add %a0, %a1 : tensor<f32>
      stablehlo.return %in_add : tensor<f32>
    }) : (tensor<32x1xf32>, tensor<1xi32>, tensor<32xf32>) -> tensor<32x1xf32>
    return %scatter : tensor<32x1xf32>
  }
  func.func private @scatter_8db000(%arg0: tensor<32x1x1xi32>, %arg1: tensor<32x1xf32>) -> tensor<32x10xf32> {
    %c_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<f32>) -> tensor<32x10xf32>
    %scatter = "stablehlo.scatter"(%broadcast_in_dim, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
      %in_add = stablehlo.add %a0, %a1 : tensor<f32>
      stablehlo.return %in_add : tensor<f32>
    }) : (tensor<32x10xf32>, tensor<32x1x1xi32>, tensor<32x1xf32>) -> tensor<32x10xf32>
    return %scatter : tensor<32x10xf32>
  }
}
