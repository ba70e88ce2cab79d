module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<4xf32>) -> tensor<16x2xf32> {
    %c_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_10 = stablehlo.constant dense<1.000000e+01> : tensor<f32>
    %call_d7dd = call @concatenate_e035f2(%c_0, %c_10) : (tensor<f32>, tensor<f32>) -> tensor<16xf32>
    %call_a6ad = call @call_5e462a(%arg0, %arg1, %call_d7dd) : (tensor<2xf32>, tensor<4xf32>, tensor<16xf32>) -> tensor<16x2xf32>
    return %call_a6ad : tensor<16x2xf32>
  }
  func.func private @concatenate_e035f2(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<16xf32> {
    %convert_fad1 = stablehlo.convert %arg0 : tensor<f32>
    %convert_8f1e = stablehlo.convert %arg1 : tensor<f32>
    %iota = stablehlo.iota dim = 0 : tensor<15xf32>
    %c_15 = stablehlo.constant dense<1.500000e+01> : tensor<f32>
    %broadcast_in_dim_09e1 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<f32>) -> tensor<15xf32>
    %divide = stablehlo.divide %iota, %broadcast_in_dim_09e1 : tensor<15xf32>
    %reshape_d6ae = stablehlo.reshape %convert_fad1 : (tensor<f32>) -> tensor<1xf32>
    %c_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_61d2 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<f32>) -> tensor<15xf32>
    %subtract = stablehlo.subtract %broadcast_in_dim_61d2, %divide : tensor<15xf32>
    %broadcast_in_dim_c247 = stablehlo.broadcast_in_dim %reshape_d6ae, dims = [0] : (tensor<1xf32>) -> tensor<15xf32>
    %multiply_9f64 = stablehlo.multiply %broadcast_in_dim_c247, %subtract : tensor<15xf32>
    %reshape_3bf3 = stablehlo.reshape %convert_8f1e : (tensor<f32>) -> tensor<1xf32>
    %broadcast_in_dim_51d2 = stablehlo.broadcast_in_dim %reshape_3bf3, dims = [0] : (tensor<1xf32>) -> tensor<15xf32>
    %multiply_f233 = stablehlo.multiply %broadcast_in_dim_51d2, %divide : tensor<15xf32>
    %add = stablehlo.add %multiply_9f64, %multiply_f233 : tensor<15xf32>
    %broadcast_in_dim_2128 = stablehlo.broadcast_in_dim %convert_8f1e, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %concatenate = stablehlo.concatenate %add, %broadcast_in_dim_2128, dim = 0 : (tensor<15xf32>, tensor<1xf32>) -> tensor<16xf32>
    return %concatenate : tensor<16xf32>
  }
  func.func private @call_5e462a(%arg0: tensor<2xf32>, %arg1: tensor<4xf32>, %arg2: tensor<16xf32>) -> tensor<16x2xf32> {
    %c_true_c865 = stablehlo.constant dense<true> : tensor<i1>
    %c_true_4661 = stablehlo.constant dense<true> : tensor<i1>
    %c_table_bd5b = stablehlo.constant dense<[[0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [1.610000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [-0.00848065502, 0.33548066, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [2.89715314, -6.35944843, 4.36229563, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [5.32586479, -11.7488832, 7.49553919, -0.0924950689, 0.000000e+00, 0.000000e+00, 0.000000e+00], [5.86145544, -12.920969, 8.15936756, -0.0715849697, -0.0282690506, 0.000000e+00, 0.000000e+00], [0.096460767, 0.00999999977, 0.479889661, 1.37900853, -3.29006958, 2.32471061, 0.000000e+00]]> : tensor<7x7xf32>
    %c_table_6dea = stablehlo.constant dense<[0.000000e+00, 1.610000e-01, 3.270000e-01, 0.899999976, 0.980025529, 1.000000e+00, 1.000000e+00]> : tensor<7xf32>
    %c_table_410e = stablehlo.constant dense<[0.00178001111, 8.16434447E-4, -0.0078808777, 1.447110e-01, -0.582357168, 0.45808211, -0.0151515156]> : tensor<7xf32>
    %c_true_68c5 = stablehlo.constant dense<true> : tensor<i1>
    %c_true_b5eb = stablehlo.constant dense<true> : tensor<i1>
    %c_true_805f = stablehlo.constant dense<true> : tensor<i1>
    %c_0.1 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %call_31b8 = call @identity_b21961(%c_0.1) : (tensor<f32>) -> tensor<f32>
    %convert_4757 = stablehlo.convert %call_31b8 : tensor<f32>
    %c_0_20f2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_10_8ede = stablehlo.constant dense<1.000000e+01> : tensor<f32>
    %compare_7dee = stablehlo.compare LT, %c_0_20f2, %c_10_8ede, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_1_20d7 = stablehlo.constant dense<1> : tensor<i32>
    %c_-1 = stablehlo.constant dense<-1> : tensor<i32>
    %call_64b4 = call @select_eb84ca(%compare_7dee, %c_1_20d7, %c_-1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %convert_d53e = stablehlo.convert %call_64b4 : (tensor<i32>) -> tensor<f32>
    %c_0_6717 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %multiply_793f = stablehlo.multiply %c_0_6717, %convert_d53e : tensor<f32>
    %convert_4d10 = stablehlo.convert %call_64b4 : (tensor<i32>) -> tensor<f32>
    %c_10_d637 = stablehlo.constant dense<1.000000e+01> : tensor<f32>
    %multiply_2297 = stablehlo.multiply %c_10_d637, %convert_4d10 : tensor<f32>
    %convert_f28a = stablehlo.convert %call_64b4 : (tensor<i32>) -> tensor<f32>
    %multiply_3dfb = stablehlo.multiply %convert_4757, %convert_f28a : tensor<f32>
    %convert_0ced = stablehlo.convert %call_64b4 : (tensor<i32>) -> tensor<f32>
    %broadcast_in_dim_b24a = stablehlo.broadcast_in_dim %convert_0ced, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %multiply_661d = stablehlo.multiply %arg2, %broadcast_in_dim_b24a : tensor<16xf32>
    %slice_55f1 = stablehlo.slice %multiply_661d [1:16] : (tensor<16xf32>) -> tensor<15xf32>
    %slice_934a = stablehlo.slice %multiply_661d [0:15] : (tensor<16xf32>) -> tensor<15xf32>
    %compare_0566 = stablehlo.compare LT, %slice_55f1, %slice_934a, FLOAT : (tensor<15xf32>, tensor<15xf32>) -> tensor<15xi1>
    %call_0121 = call @case_821839(%multiply_661d, %compare_0566) : (tensor<16xf32>, tensor<15xi1>) -> tensor<16xf32>
    %broadcast_in_dim_d93b = stablehlo.broadcast_in_dim %multiply_2297, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %compare_fb09 = stablehlo.compare GT, %call_0121, %broadcast_in_dim_d93b, FLOAT : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xi1>
    %broadcast_in_dim_d709 = stablehlo.broadcast_in_dim %multiply_793f, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %compare_e2dc = stablehlo.compare LT, %call_0121, %broadcast_in_dim_d709, FLOAT : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xi1>
    %or_e93d = stablehlo.or %compare_fb09, %compare_e2dc : tensor<16xi1>
    %call_a21f = call @case_77c975(%call_0121, %or_e93d) : (tensor<16xf32>, tensor<16xi1>) -> tensor<16xf32>
    %add_fbe1 = stablehlo.add %multiply_793f, %multiply_3dfb : tensor<f32>
    %minimum_fb87 = stablehlo.minimum %add_fbe1, %multiply_2297 : tensor<f32>
    %c_0_124b = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_c7eb = stablehlo.broadcast_in_dim %c_0_124b, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %convert_bc37 = stablehlo.convert %call_64b4 : (tensor<i32>) -> tensor<f32>
    %c_0x7F800000_c952 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %multiply_7616 = stablehlo.multiply %convert_bc37, %c_0x7F800000_c952 : tensor<f32>
    %convert_3bfe = stablehlo.convert %multiply_7616 : tensor<f32>
    %broadcast_in_dim_282f = stablehlo.broadcast_in_dim %convert_3bfe, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0x7F800000_93f6 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %broadcast_in_dim_bbf9 = stablehlo.broadcast_in_dim %c_0x7F800000_93f6, dims = [] : (tensor<f32>) -> tensor<16x2xf32>
    %c_0xFF800000_d01b = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_08ab = chlo.next_after %multiply_2297, %c_0xFF800000_d01b : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4fe0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_8eba = stablehlo.compare EQ, %multiply_2297, %c_0_4fe0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_681a = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_c2a9 = call @select_4f9a10(%compare_8eba, %c_-1.17549e-38_681a, %next_after_08ab) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_f708 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_b2fb = chlo.next_after %call_c2a9, %c_0xFF800000_f708 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_37aa = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_38e2 = stablehlo.compare EQ, %call_c2a9, %c_0_37aa, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_76a8 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_b768 = call @select_4f9a10(%compare_38e2, %c_-1.17549e-38_76a8, %next_after_b2fb) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_122a = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_f11c = chlo.next_after %call_b768, %c_0xFF800000_122a : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_a1ff = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_92e2 = stablehlo.compare EQ, %call_b768, %c_0_a1ff, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_79cd = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_9775 = call @select_4f9a10(%compare_92e2, %c_-1.17549e-38_79cd, %next_after_f11c) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_f6e2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_53e8 = chlo.next_after %call_9775, %c_0xFF800000_f6e2 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_d080 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_ff7a = stablehlo.compare EQ, %call_9775, %c_0_d080, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_1 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_948c = call @select_4f9a10(%compare_ff7a, %c_-1.17549e-38_4b4d_1, %next_after_53e8) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_1 = chlo.next_after %call_948c, %c_0xFF800000_a68c_1 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_1 = stablehlo.compare EQ, %call_948c, %c_0_4127_1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_2 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_1 = call @select_4f9a10(%compare_9767_1, %c_-1.17549e-38_4b4d_2, %next_after_9fef_1) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_2 = chlo.next_after %call_be29_1, %c_0xFF800000_a68c_2 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_2 = stablehlo.compare EQ, %call_be29_1, %c_0_4127_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_3 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_2 = call @select_4f9a10(%compare_9767_2, %c_-1.17549e-38_4b4d_3, %next_after_9fef_2) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_3 = chlo.next_after %call_be29_2, %c_0xFF800000_a68c_3 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_3 = stablehlo.compare EQ, %call_be29_2, %c_0_4127_3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_4 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_3 = call @select_4f9a10(%compare_9767_3, %c_-1.17549e-38_4b4d_4, %next_after_9fef_3) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_4 = chlo.next_after %call_be29_3, %c_0xFF800000_a68c_4 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_4 = stablehlo.compare EQ, %call_be29_3, %c_0_4127_4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_5 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_4 = call @select_4f9a10(%compare_9767_4, %c_-1.17549e-38_4b4d_5, %next_after_9fef_4) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_5 = chlo.next_after %call_be29_4, %c_0xFF800000_a68c_5 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_5 = stablehlo.compare EQ, %call_be29_4, %c_0_4127_5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_6 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_5 = call @select_4f9a10(%compare_9767_5, %c_-1.17549e-38_4b4d_6, %next_after_9fef_5) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_6 = chlo.next_after %call_be29_5, %c_0xFF800000_a68c_6 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_6 = stablehlo.compare EQ, %call_be29_5, %c_0_4127_6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_7 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_6 = call @select_4f9a10(%compare_9767_6, %c_-1.17549e-38_4b4d_7, %next_after_9fef_6) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_7 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_7 = chlo.next_after %call_be29_6, %c_0xFF800000_a68c_7 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_7 = stablehlo.compare EQ, %call_be29_6, %c_0_4127_7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_8 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_7 = call @select_4f9a10(%compare_9767_7, %c_-1.17549e-38_4b4d_8, %next_after_9fef_7) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_8 = chlo.next_after %call_be29_7, %c_0xFF800000_a68c_8 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_8 = stablehlo.compare EQ, %call_be29_7, %c_0_4127_8, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_9 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_8 = call @select_4f9a10(%compare_9767_8, %c_-1.17549e-38_4b4d_9, %next_after_9fef_8) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_9 = chlo.next_after %call_be29_8, %c_0xFF800000_a68c_9 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_9 = stablehlo.compare EQ, %call_be29_8, %c_0_4127_9, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_10 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_9 = call @select_4f9a10(%compare_9767_9, %c_-1.17549e-38_4b4d_10, %next_after_9fef_9) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_10 = chlo.next_after %call_be29_9, %c_0xFF800000_a68c_10 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_10 = stablehlo.compare EQ, %call_be29_9, %c_0_4127_10, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_11 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_10 = call @select_4f9a10(%compare_9767_10, %c_-1.17549e-38_4b4d_11, %next_after_9fef_10) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_11 = chlo.next_after %call_be29_10, %c_0xFF800000_a68c_11 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_11 = stablehlo.compare EQ, %call_be29_10, %c_0_4127_11, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_12 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_11 = call @select_4f9a10(%compare_9767_11, %c_-1.17549e-38_4b4d_12, %next_after_9fef_11) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_12 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_12 = chlo.next_after %call_be29_11, %c_0xFF800000_a68c_12 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_12 = stablehlo.compare EQ, %call_be29_11, %c_0_4127_12, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_13 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_12 = call @select_4f9a10(%compare_9767_12, %c_-1.17549e-38_4b4d_13, %next_after_9fef_12) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_13 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_13 = chlo.next_after %call_be29_12, %c_0xFF800000_a68c_13 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_13 = stablehlo.compare EQ, %call_be29_12, %c_0_4127_13, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_14 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_13 = call @select_4f9a10(%compare_9767_13, %c_-1.17549e-38_4b4d_14, %next_after_9fef_13) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_14 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_14 = chlo.next_after %call_be29_13, %c_0xFF800000_a68c_14 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_14 = stablehlo.compare EQ, %call_be29_13, %c_0_4127_14, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_15 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_14 = call @select_4f9a10(%compare_9767_14, %c_-1.17549e-38_4b4d_15, %next_after_9fef_14) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_15 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_15 = chlo.next_after %call_be29_14, %c_0xFF800000_a68c_15 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_15 = stablehlo.compare EQ, %call_be29_14, %c_0_4127_15, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_16 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_15 = call @select_4f9a10(%compare_9767_15, %c_-1.17549e-38_4b4d_16, %next_after_9fef_15) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_16 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_16 = chlo.next_after %call_be29_15, %c_0xFF800000_a68c_16 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_16 = stablehlo.compare EQ, %call_be29_15, %c_0_4127_16, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_17 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_16 = call @select_4f9a10(%compare_9767_16, %c_-1.17549e-38_4b4d_17, %next_after_9fef_16) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_17 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_17 = chlo.next_after %call_be29_16, %c_0xFF800000_a68c_17 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_17 = stablehlo.compare EQ, %call_be29_16, %c_0_4127_17, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_18 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_17 = call @select_4f9a10(%compare_9767_17, %c_-1.17549e-38_4b4d_18, %next_after_9fef_17) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_18 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_18 = chlo.next_after %call_be29_17, %c_0xFF800000_a68c_18 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_18 = stablehlo.compare EQ, %call_be29_17, %c_0_4127_18, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_19 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_18 = call @select_4f9a10(%compare_9767_18, %c_-1.17549e-38_4b4d_19, %next_after_9fef_18) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_19 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_19 = chlo.next_after %call_be29_18, %c_0xFF800000_a68c_19 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_19 = stablehlo.compare EQ, %call_be29_18, %c_0_4127_19, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_20 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_19 = call @select_4f9a10(%compare_9767_19, %c_-1.17549e-38_4b4d_20, %next_after_9fef_19) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_20 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_20 = chlo.next_after %call_be29_19, %c_0xFF800000_a68c_20 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_20 = stablehlo.compare EQ, %call_be29_19, %c_0_4127_20, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_21 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_20 = call @select_4f9a10(%compare_9767_20, %c_-1.17549e-38_4b4d_21, %next_after_9fef_20) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_21 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_21 = chlo.next_after %call_be29_20, %c_0xFF800000_a68c_21 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_21 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_21 = stablehlo.compare EQ, %call_be29_20, %c_0_4127_21, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_22 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_21 = call @select_4f9a10(%compare_9767_21, %c_-1.17549e-38_4b4d_22, %next_after_9fef_21) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_22 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_22 = chlo.next_after %call_be29_21, %c_0xFF800000_a68c_22 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_22 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_22 = stablehlo.compare EQ, %call_be29_21, %c_0_4127_22, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_23 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_22 = call @select_4f9a10(%compare_9767_22, %c_-1.17549e-38_4b4d_23, %next_after_9fef_22) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_23 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_23 = chlo.next_after %call_be29_22, %c_0xFF800000_a68c_23 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_23 = stablehlo.compare EQ, %call_be29_22, %c_0_4127_23, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_24 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_23 = call @select_4f9a10(%compare_9767_23, %c_-1.17549e-38_4b4d_24, %next_after_9fef_23) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_24 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_24 = chlo.next_after %call_be29_23, %c_0xFF800000_a68c_24 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_24 = stablehlo.compare EQ, %call_be29_23, %c_0_4127_24, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_25 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_24 = call @select_4f9a10(%compare_9767_24, %c_-1.17549e-38_4b4d_25, %next_after_9fef_24) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_25 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_25 = chlo.next_after %call_be29_24, %c_0xFF800000_a68c_25 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_25 = stablehlo.compare EQ, %call_be29_24, %c_0_4127_25, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_26 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_25 = call @select_4f9a10(%compare_9767_25, %c_-1.17549e-38_4b4d_26, %next_after_9fef_25) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_26 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_26 = chlo.next_after %call_be29_25, %c_0xFF800000_a68c_26 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_26 = stablehlo.compare EQ, %call_be29_25, %c_0_4127_26, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_27 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_26 = call @select_4f9a10(%compare_9767_26, %c_-1.17549e-38_4b4d_27, %next_after_9fef_26) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_27 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_27 = chlo.next_after %call_be29_26, %c_0xFF800000_a68c_27 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_27 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_27 = stablehlo.compare EQ, %call_be29_26, %c_0_4127_27, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_28 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_27 = call @select_4f9a10(%compare_9767_27, %c_-1.17549e-38_4b4d_28, %next_after_9fef_27) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_28 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_28 = chlo.next_after %call_be29_27, %c_0xFF800000_a68c_28 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_28 = stablehlo.compare EQ, %call_be29_27, %c_0_4127_28, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_29 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_28 = call @select_4f9a10(%compare_9767_28, %c_-1.17549e-38_4b4d_29, %next_after_9fef_28) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_29 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_29 = chlo.next_after %call_be29_28, %c_0xFF800000_a68c_29 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_29 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_29 = stablehlo.compare EQ, %call_be29_28, %c_0_4127_29, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_30 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_29 = call @select_4f9a10(%compare_9767_29, %c_-1.17549e-38_4b4d_30, %next_after_9fef_29) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_30 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_30 = chlo.next_after %call_be29_29, %c_0xFF800000_a68c_30 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_30 = stablehlo.compare EQ, %call_be29_29, %c_0_4127_30, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_31 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_30 = call @select_4f9a10(%compare_9767_30, %c_-1.17549e-38_4b4d_31, %next_after_9fef_30) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_31 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_31 = chlo.next_after %call_be29_30, %c_0xFF800000_a68c_31 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_31 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_31 = stablehlo.compare EQ, %call_be29_30, %c_0_4127_31, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_32 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_31 = call @select_4f9a10(%compare_9767_31, %c_-1.17549e-38_4b4d_32, %next_after_9fef_31) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_32 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_32 = chlo.next_after %call_be29_31, %c_0xFF800000_a68c_32 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_32 = stablehlo.compare EQ, %call_be29_31, %c_0_4127_32, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_33 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_32 = call @select_4f9a10(%compare_9767_32, %c_-1.17549e-38_4b4d_33, %next_after_9fef_32) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_33 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_33 = chlo.next_after %call_be29_32, %c_0xFF800000_a68c_33 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_33 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_33 = stablehlo.compare EQ, %call_be29_32, %c_0_4127_33, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_34 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_33 = call @select_4f9a10(%compare_9767_33, %c_-1.17549e-38_4b4d_34, %next_after_9fef_33) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_34 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_34 = chlo.next_after %call_be29_33, %c_0xFF800000_a68c_34 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_34 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_34 = stablehlo.compare EQ, %call_be29_33, %c_0_4127_34, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_35 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_34 = call @select_4f9a10(%compare_9767_34, %c_-1.17549e-38_4b4d_35, %next_after_9fef_34) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_35 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_35 = chlo.next_after %call_be29_34, %c_0xFF800000_a68c_35 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_35 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_35 = stablehlo.compare EQ, %call_be29_34, %c_0_4127_35, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_36 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_35 = call @select_4f9a10(%compare_9767_35, %c_-1.17549e-38_4b4d_36, %next_after_9fef_35) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_36 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_36 = chlo.next_after %call_be29_35, %c_0xFF800000_a68c_36 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_36 = stablehlo.compare EQ, %call_be29_35, %c_0_4127_36, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_37 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_36 = call @select_4f9a10(%compare_9767_36, %c_-1.17549e-38_4b4d_37, %next_after_9fef_36) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_37 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_37 = chlo.next_after %call_be29_36, %c_0xFF800000_a68c_37 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_37 = stablehlo.compare EQ, %call_be29_36, %c_0_4127_37, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_38 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_37 = call @select_4f9a10(%compare_9767_37, %c_-1.17549e-38_4b4d_38, %next_after_9fef_37) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_38 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_38 = chlo.next_after %call_be29_37, %c_0xFF800000_a68c_38 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_38 = stablehlo.compare EQ, %call_be29_37, %c_0_4127_38, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_39 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_38 = call @select_4f9a10(%compare_9767_38, %c_-1.17549e-38_4b4d_39, %next_after_9fef_38) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_39 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_39 = chlo.next_after %call_be29_38, %c_0xFF800000_a68c_39 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_39 = stablehlo.compare EQ, %call_be29_38, %c_0_4127_39, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_40 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_39 = call @select_4f9a10(%compare_9767_39, %c_-1.17549e-38_4b4d_40, %next_after_9fef_39) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_40 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_40 = chlo.next_after %call_be29_39, %c_0xFF800000_a68c_40 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_40 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_40 = stablehlo.compare EQ, %call_be29_39, %c_0_4127_40, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_41 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_40 = call @select_4f9a10(%compare_9767_40, %c_-1.17549e-38_4b4d_41, %next_after_9fef_40) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_41 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_41 = chlo.next_after %call_be29_40, %c_0xFF800000_a68c_41 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_41 = stablehlo.compare EQ, %call_be29_40, %c_0_4127_41, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_42 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_41 = call @select_4f9a10(%compare_9767_41, %c_-1.17549e-38_4b4d_42, %next_after_9fef_41) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_42 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_42 = chlo.next_after %call_be29_41, %c_0xFF800000_a68c_42 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_42 = stablehlo.compare EQ, %call_be29_41, %c_0_4127_42, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_43 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_42 = call @select_4f9a10(%compare_9767_42, %c_-1.17549e-38_4b4d_43, %next_after_9fef_42) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_43 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_43 = chlo.next_after %call_be29_42, %c_0xFF800000_a68c_43 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_43 = stablehlo.compare EQ, %call_be29_42, %c_0_4127_43, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_44 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_43 = call @select_4f9a10(%compare_9767_43, %c_-1.17549e-38_4b4d_44, %next_after_9fef_43) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_44 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_44 = chlo.next_after %call_be29_43, %c_0xFF800000_a68c_44 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_44 = stablehlo.compare EQ, %call_be29_43, %c_0_4127_44, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_45 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_44 = call @select_4f9a10(%compare_9767_44, %c_-1.17549e-38_4b4d_45, %next_after_9fef_44) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_45 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_45 = chlo.next_after %call_be29_44, %c_0xFF800000_a68c_45 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_45 = stablehlo.compare EQ, %call_be29_44, %c_0_4127_45, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_46 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_45 = call @select_4f9a10(%compare_9767_45, %c_-1.17549e-38_4b4d_46, %next_after_9fef_45) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_46 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_46 = chlo.next_after %call_be29_45, %c_0xFF800000_a68c_46 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_46 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_46 = stablehlo.compare EQ, %call_be29_45, %c_0_4127_46, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_47 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_46 = call @select_4f9a10(%compare_9767_46, %c_-1.17549e-38_4b4d_47, %next_after_9fef_46) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_47 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_47 = chlo.next_after %call_be29_46, %c_0xFF800000_a68c_47 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_47 = stablehlo.compare EQ, %call_be29_46, %c_0_4127_47, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_48 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_47 = call @select_4f9a10(%compare_9767_47, %c_-1.17549e-38_4b4d_48, %next_after_9fef_47) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_48 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_48 = chlo.next_after %call_be29_47, %c_0xFF800000_a68c_48 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_48 = stablehlo.compare EQ, %call_be29_47, %c_0_4127_48, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_49 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_48 = call @select_4f9a10(%compare_9767_48, %c_-1.17549e-38_4b4d_49, %next_after_9fef_48) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_49 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_49 = chlo.next_after %call_be29_48, %c_0xFF800000_a68c_49 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_49 = stablehlo.compare EQ, %call_be29_48, %c_0_4127_49, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_50 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_49 = call @select_4f9a10(%compare_9767_49, %c_-1.17549e-38_4b4d_50, %next_after_9fef_49) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_50 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_50 = chlo.next_after %call_be29_49, %c_0xFF800000_a68c_50 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_50 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_50 = stablehlo.compare EQ, %call_be29_49, %c_0_4127_50, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_51 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_50 = call @select_4f9a10(%compare_9767_50, %c_-1.17549e-38_4b4d_51, %next_after_9fef_50) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_51 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_51 = chlo.next_after %call_be29_50, %c_0xFF800000_a68c_51 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_51 = stablehlo.compare EQ, %call_be29_50, %c_0_4127_51, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_52 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_51 = call @select_4f9a10(%compare_9767_51, %c_-1.17549e-38_4b4d_52, %next_after_9fef_51) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_52 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_52 = chlo.next_after %call_be29_51, %c_0xFF800000_a68c_52 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_52 = stablehlo.compare EQ, %call_be29_51, %c_0_4127_52, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_53 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_52 = call @select_4f9a10(%compare_9767_52, %c_-1.17549e-38_4b4d_53, %next_after_9fef_52) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_53 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_53 = chlo.next_after %call_be29_52, %c_0xFF800000_a68c_53 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_53 = stablehlo.compare EQ, %call_be29_52, %c_0_4127_53, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_54 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_53 = call @select_4f9a10(%compare_9767_53, %c_-1.17549e-38_4b4d_54, %next_after_9fef_53) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_54 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_54 = chlo.next_after %call_be29_53, %c_0xFF800000_a68c_54 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_54 = stablehlo.compare EQ, %call_be29_53, %c_0_4127_54, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_55 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_54 = call @select_4f9a10(%compare_9767_54, %c_-1.17549e-38_4b4d_55, %next_after_9fef_54) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_55 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_55 = chlo.next_after %call_be29_54, %c_0xFF800000_a68c_55 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_55 = stablehlo.compare EQ, %call_be29_54, %c_0_4127_55, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_56 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_55 = call @select_4f9a10(%compare_9767_55, %c_-1.17549e-38_4b4d_56, %next_after_9fef_55) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_56 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_56 = chlo.next_after %call_be29_55, %c_0xFF800000_a68c_56 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_56 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_56 = stablehlo.compare EQ, %call_be29_55, %c_0_4127_56, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_57 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_56 = call @select_4f9a10(%compare_9767_56, %c_-1.17549e-38_4b4d_57, %next_after_9fef_56) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_57 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_57 = chlo.next_after %call_be29_56, %c_0xFF800000_a68c_57 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_57 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_57 = stablehlo.compare EQ, %call_be29_56, %c_0_4127_57, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_58 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_57 = call @select_4f9a10(%compare_9767_57, %c_-1.17549e-38_4b4d_58, %next_after_9fef_57) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_58 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_58 = chlo.next_after %call_be29_57, %c_0xFF800000_a68c_58 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_58 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_58 = stablehlo.compare EQ, %call_be29_57, %c_0_4127_58, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_59 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_58 = call @select_4f9a10(%compare_9767_58, %c_-1.17549e-38_4b4d_59, %next_after_9fef_58) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_59 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_59 = chlo.next_after %call_be29_58, %c_0xFF800000_a68c_59 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_59 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_59 = stablehlo.compare EQ, %call_be29_58, %c_0_4127_59, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_60 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_59 = call @select_4f9a10(%compare_9767_59, %c_-1.17549e-38_4b4d_60, %next_after_9fef_59) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_60 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_60 = chlo.next_after %call_be29_59, %c_0xFF800000_a68c_60 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_60 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_60 = stablehlo.compare EQ, %call_be29_59, %c_0_4127_60, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_61 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_60 = call @select_4f9a10(%compare_9767_60, %c_-1.17549e-38_4b4d_61, %next_after_9fef_60) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_61 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_61 = chlo.next_after %call_be29_60, %c_0xFF800000_a68c_61 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_61 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_61 = stablehlo.compare EQ, %call_be29_60, %c_0_4127_61, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_62 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_61 = call @select_4f9a10(%compare_9767_61, %c_-1.17549e-38_4b4d_62, %next_after_9fef_61) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_62 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_62 = chlo.next_after %call_be29_61, %c_0xFF800000_a68c_62 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_62 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_62 = stablehlo.compare EQ, %call_be29_61, %c_0_4127_62, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_63 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_62 = call @select_4f9a10(%compare_9767_62, %c_-1.17549e-38_4b4d_63, %next_after_9fef_62) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_63 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_63 = chlo.next_after %call_be29_62, %c_0xFF800000_a68c_63 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_63 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_63 = stablehlo.compare EQ, %call_be29_62, %c_0_4127_63, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_64 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_63 = call @select_4f9a10(%compare_9767_63, %c_-1.17549e-38_4b4d_64, %next_after_9fef_63) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_64 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_64 = chlo.next_after %call_be29_63, %c_0xFF800000_a68c_64 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_64 = stablehlo.compare EQ, %call_be29_63, %c_0_4127_64, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_65 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_64 = call @select_4f9a10(%compare_9767_64, %c_-1.17549e-38_4b4d_65, %next_after_9fef_64) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_65 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_65 = chlo.next_after %call_be29_64, %c_0xFF800000_a68c_65 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_65 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_65 = stablehlo.compare EQ, %call_be29_64, %c_0_4127_65, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_66 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_65 = call @select_4f9a10(%compare_9767_65, %c_-1.17549e-38_4b4d_66, %next_after_9fef_65) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_66 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_66 = chlo.next_after %call_be29_65, %c_0xFF800000_a68c_66 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_66 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_66 = stablehlo.compare EQ, %call_be29_65, %c_0_4127_66, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_67 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_66 = call @select_4f9a10(%compare_9767_66, %c_-1.17549e-38_4b4d_67, %next_after_9fef_66) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_67 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_67 = chlo.next_after %call_be29_66, %c_0xFF800000_a68c_67 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_67 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_67 = stablehlo.compare EQ, %call_be29_66, %c_0_4127_67, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_68 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_67 = call @select_4f9a10(%compare_9767_67, %c_-1.17549e-38_4b4d_68, %next_after_9fef_67) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_68 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_68 = chlo.next_after %call_be29_67, %c_0xFF800000_a68c_68 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_68 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_68 = stablehlo.compare EQ, %call_be29_67, %c_0_4127_68, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_69 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_68 = call @select_4f9a10(%compare_9767_68, %c_-1.17549e-38_4b4d_69, %next_after_9fef_68) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_69 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_69 = chlo.next_after %call_be29_68, %c_0xFF800000_a68c_69 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_69 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_69 = stablehlo.compare EQ, %call_be29_68, %c_0_4127_69, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_70 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_69 = call @select_4f9a10(%compare_9767_69, %c_-1.17549e-38_4b4d_70, %next_after_9fef_69) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_70 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_70 = chlo.next_after %call_be29_69, %c_0xFF800000_a68c_70 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_70 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_70 = stablehlo.compare EQ, %call_be29_69, %c_0_4127_70, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_71 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_70 = call @select_4f9a10(%compare_9767_70, %c_-1.17549e-38_4b4d_71, %next_after_9fef_70) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_71 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_71 = chlo.next_after %call_be29_70, %c_0xFF800000_a68c_71 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_71 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_71 = stablehlo.compare EQ, %call_be29_70, %c_0_4127_71, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_72 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_71 = call @select_4f9a10(%compare_9767_71, %c_-1.17549e-38_4b4d_72, %next_after_9fef_71) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_72 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_72 = chlo.next_after %call_be29_71, %c_0xFF800000_a68c_72 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_72 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_72 = stablehlo.compare EQ, %call_be29_71, %c_0_4127_72, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_73 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_72 = call @select_4f9a10(%compare_9767_72, %c_-1.17549e-38_4b4d_73, %next_after_9fef_72) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_73 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_73 = chlo.next_after %call_be29_72, %c_0xFF800000_a68c_73 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_73 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_73 = stablehlo.compare EQ, %call_be29_72, %c_0_4127_73, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_74 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_73 = call @select_4f9a10(%compare_9767_73, %c_-1.17549e-38_4b4d_74, %next_after_9fef_73) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_74 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_74 = chlo.next_after %call_be29_73, %c_0xFF800000_a68c_74 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_74 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_74 = stablehlo.compare EQ, %call_be29_73, %c_0_4127_74, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_75 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_74 = call @select_4f9a10(%compare_9767_74, %c_-1.17549e-38_4b4d_75, %next_after_9fef_74) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_75 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_75 = chlo.next_after %call_be29_74, %c_0xFF800000_a68c_75 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_75 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_75 = stablehlo.compare EQ, %call_be29_74, %c_0_4127_75, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_76 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_75 = call @select_4f9a10(%compare_9767_75, %c_-1.17549e-38_4b4d_76, %next_after_9fef_75) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_76 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_76 = chlo.next_after %call_be29_75, %c_0xFF800000_a68c_76 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_76 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_76 = stablehlo.compare EQ, %call_be29_75, %c_0_4127_76, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_77 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_76 = call @select_4f9a10(%compare_9767_76, %c_-1.17549e-38_4b4d_77, %next_after_9fef_76) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_77 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_77 = chlo.next_after %call_be29_76, %c_0xFF800000_a68c_77 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_77 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_77 = stablehlo.compare EQ, %call_be29_76, %c_0_4127_77, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_78 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_77 = call @select_4f9a10(%compare_9767_77, %c_-1.17549e-38_4b4d_78, %next_after_9fef_77) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_78 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_78 = chlo.next_after %call_be29_77, %c_0xFF800000_a68c_78 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_78 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_78 = stablehlo.compare EQ, %call_be29_77, %c_0_4127_78, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_79 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_78 = call @select_4f9a10(%compare_9767_78, %c_-1.17549e-38_4b4d_79, %next_after_9fef_78) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_79 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_79 = chlo.next_after %call_be29_78, %c_0xFF800000_a68c_79 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_79 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_79 = stablehlo.compare EQ, %call_be29_78, %c_0_4127_79, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_80 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_79 = call @select_4f9a10(%compare_9767_79, %c_-1.17549e-38_4b4d_80, %next_after_9fef_79) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_80 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_80 = chlo.next_after %call_be29_79, %c_0xFF800000_a68c_80 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_80 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_80 = stablehlo.compare EQ, %call_be29_79, %c_0_4127_80, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_81 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_80 = call @select_4f9a10(%compare_9767_80, %c_-1.17549e-38_4b4d_81, %next_after_9fef_80) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_81 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_81 = chlo.next_after %call_be29_80, %c_0xFF800000_a68c_81 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_81 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_81 = stablehlo.compare EQ, %call_be29_80, %c_0_4127_81, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_82 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_81 = call @select_4f9a10(%compare_9767_81, %c_-1.17549e-38_4b4d_82, %next_after_9fef_81) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_82 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_82 = chlo.next_after %call_be29_81, %c_0xFF800000_a68c_82 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_82 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_82 = stablehlo.compare EQ, %call_be29_81, %c_0_4127_82, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_83 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_82 = call @select_4f9a10(%compare_9767_82, %c_-1.17549e-38_4b4d_83, %next_after_9fef_82) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_83 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_83 = chlo.next_after %call_be29_82, %c_0xFF800000_a68c_83 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_83 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_83 = stablehlo.compare EQ, %call_be29_82, %c_0_4127_83, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_84 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_83 = call @select_4f9a10(%compare_9767_83, %c_-1.17549e-38_4b4d_84, %next_after_9fef_83) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_84 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_84 = chlo.next_after %call_be29_83, %c_0xFF800000_a68c_84 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_84 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_84 = stablehlo.compare EQ, %call_be29_83, %c_0_4127_84, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_85 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_84 = call @select_4f9a10(%compare_9767_84, %c_-1.17549e-38_4b4d_85, %next_after_9fef_84) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_85 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_85 = chlo.next_after %call_be29_84, %c_0xFF800000_a68c_85 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_85 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_85 = stablehlo.compare EQ, %call_be29_84, %c_0_4127_85, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_86 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_85 = call @select_4f9a10(%compare_9767_85, %c_-1.17549e-38_4b4d_86, %next_after_9fef_85) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_86 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_86 = chlo.next_after %call_be29_85, %c_0xFF800000_a68c_86 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_86 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_86 = stablehlo.compare EQ, %call_be29_85, %c_0_4127_86, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_87 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_86 = call @select_4f9a10(%compare_9767_86, %c_-1.17549e-38_4b4d_87, %next_after_9fef_86) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_87 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_87 = chlo.next_after %call_be29_86, %c_0xFF800000_a68c_87 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_87 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_87 = stablehlo.compare EQ, %call_be29_86, %c_0_4127_87, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_88 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_87 = call @select_4f9a10(%compare_9767_87, %c_-1.17549e-38_4b4d_88, %next_after_9fef_87) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_88 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_88 = chlo.next_after %call_be29_87, %c_0xFF800000_a68c_88 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_88 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_88 = stablehlo.compare EQ, %call_be29_87, %c_0_4127_88, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_89 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_88 = call @select_4f9a10(%compare_9767_88, %c_-1.17549e-38_4b4d_89, %next_after_9fef_88) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_89 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_89 = chlo.next_after %call_be29_88, %c_0xFF800000_a68c_89 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_89 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_89 = stablehlo.compare EQ, %call_be29_88, %c_0_4127_89, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_90 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_89 = call @select_4f9a10(%compare_9767_89, %c_-1.17549e-38_4b4d_90, %next_after_9fef_89) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_90 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_90 = chlo.next_after %call_be29_89, %c_0xFF800000_a68c_90 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_90 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_90 = stablehlo.compare EQ, %call_be29_89, %c_0_4127_90, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_91 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_90 = call @select_4f9a10(%compare_9767_90, %c_-1.17549e-38_4b4d_91, %next_after_9fef_90) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_91 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_91 = chlo.next_after %call_be29_90, %c_0xFF800000_a68c_91 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_91 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_91 = stablehlo.compare EQ, %call_be29_90, %c_0_4127_91, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_92 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_91 = call @select_4f9a10(%compare_9767_91, %c_-1.17549e-38_4b4d_92, %next_after_9fef_91) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_92 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_9fef_92 = chlo.next_after %call_be29_91, %c_0xFF800000_a68c_92 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_92 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_9767_92 = stablehlo.compare EQ, %call_be29_91, %c_0_4127_92, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4b4d_93 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_be29_92 = call @select_4f9a10(%compare_9767_92, %c_-1.17549e-38_4b4d_93, %next_after_9fef_92) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_a68c_93 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_c4a0 = chlo.next_after %call_be29_92, %c_0xFF800000_a68c_93 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_4127_93 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_98be = stablehlo.compare EQ, %call_be29_92, %c_0_4127_93, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_4d6e = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_6194 = call @select_4f9a10(%compare_98be, %c_-1.17549e-38_4d6e, %next_after_c4a0) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_3b5c = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_ba98 = chlo.next_after %call_6194, %c_0xFF800000_3b5c : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_2b65 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_6d24 = stablehlo.compare EQ, %call_6194, %c_0_2b65, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_5961 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_b01c = call @select_4f9a10(%compare_6d24, %c_-1.17549e-38_5961, %next_after_ba98) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_6571 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_c11a = chlo.next_after %call_b01c, %c_0xFF800000_6571 : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_8018 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_063a = stablehlo.compare EQ, %call_b01c, %c_0_8018, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_f97f = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_21f2 = call @select_4f9a10(%compare_063a, %c_-1.17549e-38_f97f, %next_after_c11a) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_0xFF800000_456f = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %next_after_b722 = chlo.next_after %call_21f2, %c_0xFF800000_456f : tensor<f32>, tensor<f32> -> tensor<f32>
    %c_0_af27 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %compare_f225 = stablehlo.compare EQ, %call_21f2, %c_0_af27, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_-1.17549e-38_30da = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %call_db55 = call @select_4f9a10(%compare_f225, %c_-1.17549e-38_30da, %next_after_b722) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_true_6c22 = stablehlo.constant dense<true> : tensor<i1>
    %c_1_6a29 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_1_6315 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_false_0a60 = stablehlo.constant dense<false> : tensor<i1>
    %c_false_b415 = stablehlo.constant dense<false> : tensor<i1>
    %c_0_7934 = stablehlo.constant dense<0> : tensor<i32>
    %c_0_e739 = stablehlo.constant dense<0> : tensor<i32>
    %c_0_bf60 = stablehlo.constant dense<0> : tensor<i32>
    %c_0_1b9c = stablehlo.constant dense<0> : tensor<i32>
    %c_0_677c = stablehlo.constant dense<0> : tensor<i32>
    %c_0_1f58 = stablehlo.constant dense<0> : tensor<i32>
    %compare_fd21 = stablehlo.compare LT, %multiply_793f, %multiply_2297, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %and_ee07 = stablehlo.and %compare_fd21, %c_true_c865 : tensor<i1>
    %c_0_7a79 = stablehlo.constant dense<0> : tensor<i32>
    %c_true_fda2 = stablehlo.constant dense<true> : tensor<i1>
    %while_f4d6:33 = stablehlo.while(%carry_2d72 = %multiply_2297, %carry_9fd9 = %c_true_4661, %carry_e7f2 = %call_64b4, %carry_bec2 = %c_table_bd5b, %carry_0b1f = %c_table_6dea, %carry_9595 = %arg1, %carry_9649 = %c_table_410e, %carry_7bd6 = %c_true_68c5, %carry_b2fc = %multiply_2297, %carry_8171 = %call_db55, %carry_8d67 = %multiply_793f, %carry_7bd0 = %call_a21f, %carry_f7ad = %c_true_b5eb, %carry_fd46 = %c_0_7a79, %carry_5fc6 = %and_ee07, %carry_4723_30 = %c_true_fda2, %carry_e90f = %arg0, %carry_7241 = %multiply_793f, %carry_d937 = %minimum_fb87, %carry_4723_31 = %c_false_0a60, %carry_d55d = %c_true_6c22, %carry_3088 = %broadcast_in_dim_c7eb, %carry_4c04 = %c_1_6a29, %carry_777f = %c_1_6315, %carry_fcc7 = %c_false_b415, %carry_4723_32 = %c_0_7934, %carry_c860 = %c_0_e739, %carry_4928 = %c_0_bf60, %carry_07f0 = %c_0_1b9c, %carry_d4d4 = %c_0_677c, %carry_76b4 = %broadcast_in_dim_282f, %carry_ec88 = %broadcast_in_dim_bbf9, %carry_cf55 = %c_0_1f58) : tensor<f32>, tensor<i1>, tensor<i32>, tensor<7x7xf32>, tensor<7xf32>, tensor<4xf32>, tensor<7xf32>, tensor<i1>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<16xf32>, tensor<i1>, tensor<i32>, tensor<i1>, tensor<i1>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<i1>, tensor<i1>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<16xf32>, tensor<16x2xf32>, tensor<i32>
    cond {
      %compare_9c88 = stablehlo.compare LT, %carry_7241, %carry_2d72, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %and_d9b8 = stablehlo.and %compare_9c88, %carry_9fd9 : tensor<i1>
      %c_false_a0e2 = stablehlo.constant dense<false> : tensor<i1>
      %reduce_or_90d2 = stablehlo.reduce(%and_d9b8 init: %c_false_a0e2) applies stablehlo.or across dimensions = [] : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %c_1024 = stablehlo.constant dense<1024> : tensor<i32>
      %compare_6644 = stablehlo.compare LT, %carry_fd46, %c_1024, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_false_1913 = stablehlo.constant dense<false> : tensor<i1>
      %broadcast_in_dim_6c46 = stablehlo.broadcast_in_dim %c_false_1913, dims = [] : (tensor<i1>) -> tensor<i1>
      %compare_7d10 = stablehlo.compare NE, %compare_6644, %broadcast_in_dim_6c46, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %convert_2760 = stablehlo.convert %compare_7d10 : tensor<i1>
      %and_f483 = stablehlo.and %reduce_or_90d2, %convert_2760 : tensor<i1>
      stablehlo.return %and_f483 : tensor<i1>
    } do {
      %c_1_60de = stablehlo.constant dense<1> : tensor<i32>
      %compare_0d5b = stablehlo.compare EQ, %carry_e7f2, %c_1_60de, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %negate_500b = stablehlo.negate %carry_d937 : tensor<f32>
      %call_d7cf = func.call @select_4f9a10(%compare_0d5b, %carry_7241, %negate_500b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %c_1_0654 = stablehlo.constant dense<1> : tensor<i32>
      %compare_299c = stablehlo.compare EQ, %carry_e7f2, %c_1_0654, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %negate_26fe = stablehlo.negate %carry_7241 : tensor<f32>
      %call_bbb1 = func.call @select_4f9a10(%compare_299c, %carry_d937, %negate_26fe) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %subtract_913d = stablehlo.subtract %carry_d937, %carry_7241 : tensor<f32>
      %c_1_5fea = stablehlo.constant dense<1> : tensor<i32>
      %compare_0cb4 = stablehlo.compare EQ, %carry_e7f2, %c_1_5fea, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %negate_46d8 = stablehlo.negate %carry_d937 : tensor<f32>
      %call_d2e8 = func.call @select_4f9a10(%compare_0cb4, %carry_7241, %negate_46d8) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %c_1_0a2b = stablehlo.constant dense<1> : tensor<i32>
      %compare_9872 = stablehlo.compare EQ, %carry_e7f2, %c_1_0a2b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %negate_b519 = stablehlo.negate %carry_7241 : tensor<f32>
      %call_6beb = func.call @select_4f9a10(%compare_9872, %carry_d937, %negate_b519) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %subtract_427f = stablehlo.subtract %call_6beb, %call_d2e8 : tensor<f32>
      %convert_978f = stablehlo.convert %carry_e7f2 : (tensor<i32>) -> tensor<f32>
      %multiply_8197 = stablehlo.multiply %convert_978f, %subtract_427f : tensor<f32>
      %c_false_52d9 = stablehlo.constant dense<false> : tensor<i1>
      %or_4fcc = stablehlo.or %carry_d55d, %c_false_52d9 : tensor<i1>
      %c_false_7700 = stablehlo.constant dense<false> : tensor<i1>
      %reduce_or_ed3f = stablehlo.reduce(%or_4fcc init: %c_false_7700) applies stablehlo.or across dimensions = [] : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %c_0_de3b = stablehlo.constant dense<0> : tensor<i32>
      %c_1_41c8 = stablehlo.constant dense<1> : tensor<i32>
      %call_cd03 = func.call @select_eb84ca(%reduce_or_ed3f, %c_0_de3b, %c_1_41c8) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      %c_0_84be = stablehlo.constant dense<0> : tensor<i32>
      %call_d58a = func.call @select_59967b(%reduce_or_ed3f, %c_0_84be, %carry_3088) : (tensor<i1>, tensor<i32>, tensor<2xf32>) -> tensor<2xf32>
      %broadcast_in_dim_6e1f = stablehlo.broadcast_in_dim %multiply_8197, dims = [] : (tensor<f32>) -> tensor<2xf32>
      %multiply_0ab2 = stablehlo.multiply %broadcast_in_dim_6e1f, %call_d58a : tensor<2xf32>
      %c_0_8a2c = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %broadcast_in_dim_ed9e = stablehlo.broadcast_in_dim %c_0_8a2c, dims = [] : (tensor<f32>) -> tensor<7x2xf32>
      %c_0_b41c = stablehlo.constant dense<0> : tensor<i32>
      %broadcast_in_dim_7db9 = stablehlo.broadcast_in_dim %c_0_b41c, dims = [] : (tensor<i32>) -> tensor<1xi32>
      %scatter_eb9e = "stablehlo.scatter"(%broadcast_in_dim_ed9e, %broadcast_in_dim_7db9, %multiply_0ab2) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
      ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
        stablehlo.return %a1 : tensor<f32>
      }) : (tensor<7x2xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<7x2xf32>
      %c_0_7a98 = stablehlo.constant dense<0> : tensor<i32>
      %c_7_2a5a = stablehlo.constant dense<7> : tensor<i32>
      %compare_33ab = stablehlo.compare LT, %call_cd03, %c_7_2a5a, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_0_0f91 = stablehlo.constant dense<0> : tensor<i32>
      %c_true_df0b = stablehlo.constant dense<true> : tensor<i1>
      %while_b085:17 = stablehlo.while(%carry_df7d = %carry_bec2, %carry_c802 = %carry_0b1f, %carry_ee20 = %carry_e90f, %carry_68a1 = %subtract_913d, %carry_d856 = %carry_7241, %carry_3cb6 = %carry_d937, %carry_bc57 = %carry_e7f2, %carry_9feb = %carry_9595, %carry_d365 = %multiply_8197, %carry_0efe = %c_0_0f91, %carry_3b68 = %compare_33ab, %carry_4723_48 = %c_true_df0b, %carry_e9c8 = %call_cd03, %carry_4723_49 = %carry_e90f, %carry_4723_50 = %call_d58a, %carry_2687 = %scatter_eb9e, %carry_a011 = %c_0_7a98) : tensor<7x7xf32>, tensor<7xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>, tensor<4xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<i1>, tensor<i32>, tensor<2xf32>, tensor<2xf32>, tensor<7x2xf32>, tensor<i32>
      cond {
        %c_7_9b54 = stablehlo.constant dense<7> : tensor<i32>
        %compare_0995 = stablehlo.compare LT, %carry_e9c8, %c_7_9b54, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_false_596f = stablehlo.constant dense<false> : tensor<i1>
        %broadcast_in_dim_edfd = stablehlo.broadcast_in_dim %c_false_596f, dims = [] : (tensor<i1>) -> tensor<i1>
        %compare_cd37 = stablehlo.compare NE, %compare_0995, %broadcast_in_dim_edfd, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %convert_4d22 = stablehlo.convert %compare_cd37 : tensor<i1>
        %c_false_abeb = stablehlo.constant dense<false> : tensor<i1>
        %reduce_or_bf80 = stablehlo.reduce(%convert_4d22 init: %c_false_abeb) applies stablehlo.or across dimensions = [] : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %c_7_ea7a = stablehlo.constant dense<7> : tensor<i32>
        %compare_6e4e = stablehlo.compare LT, %carry_0efe, %c_7_ea7a, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_false_2eb2 = stablehlo.constant dense<false> : tensor<i1>
        %broadcast_in_dim_bf91 = stablehlo.broadcast_in_dim %c_false_2eb2, dims = [] : (tensor<i1>) -> tensor<i1>
        %compare_aaad = stablehlo.compare NE, %compare_6e4e, %broadcast_in_dim_bf91, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %convert_3e3a = stablehlo.convert %compare_aaad : tensor<i1>
        %and_af93 = stablehlo.and %reduce_or_bf80, %convert_3e3a : tensor<i1>
        stablehlo.return %and_af93 : tensor<i1>
      } do {
        %convert_f6a0 = stablehlo.convert %carry_e9c8 : tensor<i32>
        %c_0_ff0d = stablehlo.constant dense<0> : tensor<i32>
        %compare_296d = stablehlo.compare LT, %convert_f6a0, %c_0_ff0d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_7_3bd2 = stablehlo.constant dense<7> : tensor<i32>
        %add_cb0b = stablehlo.add %convert_f6a0, %c_7_3bd2 : tensor<i32>
        %select_5f92 = stablehlo.select %compare_296d, %add_cb0b, %convert_f6a0 : tensor<i1>, tensor<i32>
        %c_0_4b84 = stablehlo.constant dense<0> : tensor<i32>
        %c_0_2d38 = stablehlo.constant dense<0> : tensor<i32>
        %compare_fcda = stablehlo.compare LT, %c_0_4b84, %c_0_2d38, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_0_30dc = stablehlo.constant dense<0> : tensor<i32>
        %c_7_9870 = stablehlo.constant dense<7> : tensor<i32>
        %add_3952 = stablehlo.add %c_0_30dc, %c_7_9870 : tensor<i32>
        %c_0_247d = stablehlo.constant dense<0> : tensor<i32>
        %select_3fdb = stablehlo.select %compare_fcda, %add_3952, %c_0_247d : tensor<i1>, tensor<i32>
        %dynamic_slice_92de = stablehlo.dynamic_slice %carry_df7d, %select_5f92, %select_3fdb, sizes = [1, 7] : (tensor<7x7xf32>, tensor<i32>, tensor<i32>) -> tensor<1x7xf32>
        %reshape_ccff = stablehlo.reshape %dynamic_slice_92de : (tensor<1x7xf32>) -> tensor<7xf32>
        %c_0_5d29 = stablehlo.constant dense<0> : tensor<i32>
        %compare_6bd4 = stablehlo.compare LT, %carry_e9c8, %c_0_5d29, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %convert_5385 = stablehlo.convert %carry_e9c8 : tensor<i32>
        %c_7_9fd5 = stablehlo.constant dense<7> : tensor<i32>
        %add_5968 = stablehlo.add %convert_5385, %c_7_9fd5 : tensor<i32>
        %select_7ff0 = stablehlo.select %compare_6bd4, %add_5968, %carry_e9c8 : tensor<i1>, tensor<i32>
        %dynamic_slice_477c = stablehlo.dynamic_slice %carry_c802, %select_7ff0, sizes = [1] : (tensor<7xf32>, tensor<i32>) -> tensor<1xf32>
        %reshape_3c04 = stablehlo.reshape %dynamic_slice_477c : (tensor<1xf32>) -> tensor<f32>
        %dot_general_2cc3 = stablehlo.dot_general %reshape_ccff, %carry_2687, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<7xf32>, tensor<7x2xf32>) -> tensor<2xf32>
        %add_e628 = stablehlo.add %carry_ee20, %dot_general_2cc3 : tensor<2xf32>
        %c_1_746a = stablehlo.constant dense<1.000000e+00> : tensor<f32>
        %compare_353b = stablehlo.compare EQ, %reshape_3c04, %c_1_746a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %multiply_4ebc = stablehlo.multiply %reshape_3c04, %carry_68a1 : tensor<f32>
        %add_1d8d = stablehlo.add %carry_d856, %multiply_4ebc : tensor<f32>
        %call_72b1 = func.call @select_4f9a10(%compare_353b, %carry_3cb6, %add_1d8d) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
        %convert_7c8a = stablehlo.convert %carry_bc57 : (tensor<i32>) -> tensor<f32>
        %multiply_f460 = stablehlo.multiply %call_72b1, %convert_7c8a : tensor<f32>
        %slice_c6f8 = stablehlo.slice %add_e628 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
        %reshape_9035 = stablehlo.reshape %slice_c6f8 : (tensor<1xf32>) -> tensor<f32>
        %slice_b50a = stablehlo.slice %add_e628 [1:2] : (tensor<2xf32>) -> tensor<1xf32>
        %reshape_55f7 = stablehlo.reshape %slice_b50a : (tensor<1xf32>) -> tensor<f32>
        %slice_d663 = stablehlo.slice %carry_9feb [0:1] : (tensor<4xf32>) -> tensor<1xf32>
        %reshape_23e7 = stablehlo.reshape %slice_d663 : (tensor<1xf32>) -> tensor<f32>
        %multiply_e2ee = stablehlo.multiply %reshape_23e7, %reshape_9035 : tensor<f32>
        %slice_71ea = stablehlo.slice %carry_9feb [1:2] : (tensor<4xf32>) -> tensor<1xf32>
        %reshape_c4cb = stablehlo.reshape %slice_71ea : (tensor<1xf32>) -> tensor<f32>
        %multiply_bd8b = stablehlo.multiply %reshape_c4cb, %reshape_9035 : tensor<f32>
        %multiply_fbb8 = stablehlo.multiply %multiply_bd8b, %reshape_55f7 : tensor<f32>
        %subtract_6478 = stablehlo.subtract %multiply_e2ee, %multiply_fbb8 : tensor<f32>
        %slice_7415 = stablehlo.slice %carry_9feb [2:3] : (tensor<4xf32>) -> tensor<1xf32>
        %reshape_365d = stablehlo.reshape %slice_7415 : (tensor<1xf32>) -> tensor<f32>
        %multiply_c1c6 = stablehlo.multiply %reshape_365d, %reshape_9035 : tensor<f32>
        %multiply_597f = stablehlo.multiply %multiply_c1c6, %reshape_55f7 : tensor<f32>
        %slice_5f50 = stablehlo.slice %carry_9feb [3:4] : (tensor<4xf32>) -> tensor<1xf32>
        %reshape_37e4 = stablehlo.reshape %slice_5f50 : (tensor<1xf32>) -> tensor<f32>
        %multiply_ecac = stablehlo.multiply %reshape_37e4, %reshape_55f7 : tensor<f32>
        %subtract_5f16 = stablehlo.subtract %multiply_597f, %multiply_ecac : tensor<f32>
        %broadcast_in_dim_5769 = stablehlo.broadcast_in_dim %subtract_6478, dims = [] : (tensor<f32>) -> tensor<1xf32>
        %broadcast_in_dim_6147 = stablehlo.broadcast_in_dim %subtract_5f16, dims = [] : (tensor<f32>) -> tensor<1xf32>
        %concatenate_54c6 = stablehlo.concatenate %broadcast_in_dim_5769, %broadcast_in_dim_6147, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
        %broadcast_in_dim_1a24 = stablehlo.broadcast_in_dim %carry_d365, dims = [] : (tensor<f32>) -> tensor<2xf32>
        %multiply_e408 = stablehlo.multiply %broadcast_in_dim_1a24, %concatenate_54c6 : tensor<2xf32>
        %c_false_0484 = stablehlo.constant dense<false> : tensor<i1>
        %broadcast_in_dim_350f = stablehlo.broadcast_in_dim %c_false_0484, dims = [] : (tensor<i1>) -> tensor<i1>
        %compare_a678 = stablehlo.compare NE, %carry_3b68, %broadcast_in_dim_350f, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %convert_177b = stablehlo.convert %compare_a678 : tensor<i1>
        %c_true_33db = stablehlo.constant dense<true> : tensor<i1>
        %and_3135 = stablehlo.and %c_true_33db, %convert_177b : tensor<i1>
        %convert_9b92 = stablehlo.convert %carry_e9c8 : tensor<i32>
        %c_0_a928 = stablehlo.constant dense<0> : tensor<i32>
        %compare_918c = stablehlo.compare LT, %convert_9b92, %c_0_a928, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_7_bb8d = stablehlo.constant dense<7> : tensor<i32>
        %add_a2e6 = stablehlo.add %convert_9b92, %c_7_bb8d : tensor<i32>
        %select_5191 = stablehlo.select %compare_918c, %add_a2e6, %convert_9b92 : tensor<i1>, tensor<i32>
        %c_0_5670 = stablehlo.constant dense<0> : tensor<i32>
        %c_0_e972 = stablehlo.constant dense<0> : tensor<i32>
        %compare_c6fe = stablehlo.compare LT, %c_0_5670, %c_0_e972, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_0_873c = stablehlo.constant dense<0> : tensor<i32>
        %c_2_8d64 = stablehlo.constant dense<2> : tensor<i32>
        %add_984b = stablehlo.add %c_0_873c, %c_2_8d64 : tensor<i32>
        %c_0_4f78 = stablehlo.constant dense<0> : tensor<i32>
        %select_e059 = stablehlo.select %compare_c6fe, %add_984b, %c_0_4f78 : tensor<i1>, tensor<i32>
        %dynamic_slice_c347 = stablehlo.dynamic_slice %carry_2687, %select_5191, %select_e059, sizes = [1, 2] : (tensor<7x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
        %reshape_29a4 = stablehlo.reshape %dynamic_slice_c347 : (tensor<1x2xf32>) -> tensor<2xf32>
        %c_0_0c66 = stablehlo.constant dense<0> : tensor<i32>
        %compare_16e2 = stablehlo.compare LT, %carry_e9c8, %c_0_0c66, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_7_84e1 = stablehlo.constant dense<7> : tensor<i32>
        %add_1603 = stablehlo.add %carry_e9c8, %c_7_84e1 : tensor<i32>
        %select_569a = stablehlo.select %compare_16e2, %add_1603, %carry_e9c8 : tensor<i1>, tensor<i32>
        %convert_2621 = stablehlo.convert %select_569a : tensor<i32>
        %broadcast_in_dim_107f = stablehlo.broadcast_in_dim %convert_2621, dims = [] : (tensor<i32>) -> tensor<1xi32>
        %scatter_a8e4 = "stablehlo.scatter"(%carry_2687, %broadcast_in_dim_107f, %multiply_e408) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
        ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
          stablehlo.return %a1 : tensor<f32>
        }) : (tensor<7x2xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<7x2xf32>
        %c_1_4db7 = stablehlo.constant dense<1> : tensor<i32>
        %add_3c29 = stablehlo.add %carry_e9c8, %c_1_4db7 : tensor<i32>
        %c_1_3c46 = stablehlo.constant dense<1> : tensor<i32>
        %add_88c3 = stablehlo.add %carry_0efe, %c_1_3c46 : tensor<i32>
        %c_7_9351 = stablehlo.constant dense<7> : tensor<i32>
        %compare_700a = stablehlo.compare LT, %add_3c29, %c_7_9351, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_false_da8c = stablehlo.constant dense<false> : tensor<i1>
        %broadcast_in_dim_5898 = stablehlo.broadcast_in_dim %c_false_da8c, dims = [] : (tensor<i1>) -> tensor<i1>
        %compare_dc66 = stablehlo.compare NE, %carry_3b68, %broadcast_in_dim_5898, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %convert_75ab = stablehlo.convert %compare_dc66 : tensor<i1>
        %c_false_f8ab = stablehlo.constant dense<false> : tensor<i1>
        %broadcast_in_dim_bdd3 = stablehlo.broadcast_in_dim %c_false_f8ab, dims = [] : (tensor<i1>) -> tensor<i1>
        %compare_20fd = stablehlo.compare NE, %compare_700a, %broadcast_in_dim_bdd3, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %convert_5602 = stablehlo.convert %compare_20fd : tensor<i1>
        %and_a266 = stablehlo.and %convert_75ab, %convert_5602 : tensor<i1>
        stablehlo.return %carry_df7d, %carry_c802, %carry_ee20, %carry_68a1, %carry_d856, %carry_3cb6, %carry_bc57, %carry_9feb, %carry_d365, %add_88c3, %and_a266, %carry_3b68, %add_3c29, %add_e628, %concatenate_54c6, %scatter_a8e4, %carry_a011 : tensor<7x7xf32>, tensor<7xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>, tensor<4xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<i1>, tensor<i32>, tensor<2xf32>, tensor<2xf32>, tensor<7x2xf32>, tensor<i32>
      }
      %c_0_8955_1 = stablehlo.constant dense<0> : tensor<i32>
      %c_true_632a_1 = stablehlo.constant dense<true> : tensor<i1>
      %dot_general_b211 = stablehlo.dot_general %carry_9649, %while_b085#15, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<7xf32>, tensor<7x2xf32>) -> tensor<2xf32>
      %c_0x7F800000_1a7e = stablehlo.constant dense<0x7F800000> : tensor<f32>
      %call_2332 = func.call @select_4a48ba(%carry_7bd6, %dot_general_b211, %c_0x7F800000_1a7e) : (tensor<i1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      %compare_f4ed = stablehlo.compare NE, %call_2332, %call_2332, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
      %c_0x7F800000_5c68 = stablehlo.constant dense<0x7F800000> : tensor<f32>
      %call_4952 = func.call @select_92ada9(%compare_f4ed, %c_0x7F800000_5c68, %call_2332) : (tensor<2xi1>, tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
      %subtract_8e63 = stablehlo.subtract %carry_d937, %carry_7241 : tensor<f32>
      %compare_ab54 = stablehlo.compare NE, %while_b085#13, %while_b085#13, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
      %c_false_fc8b = stablehlo.constant dense<false> : tensor<i1>
      %reduce_or_62d0 = stablehlo.reduce(%compare_ab54 init: %c_false_fc8b) applies stablehlo.or across dimensions = [0] : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
      %call_2c53 = func.call @select_4609ec(%reduce_or_62d0, %carry_e90f, %while_b085#13) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %abs_651b = stablehlo.abs %carry_e90f : tensor<2xf32>
      %abs_7628 = stablehlo.abs %call_2c53 : tensor<2xf32>
      %maximum = stablehlo.maximum %abs_651b, %abs_7628 : tensor<2xf32>
      %c_0.0001 = stablehlo.constant dense<9.99999974E-5> : tensor<f32>
      %broadcast_in_dim_8ac6 = stablehlo.broadcast_in_dim %c_0.0001, dims = [] : (tensor<f32>) -> tensor<2xf32>
      %multiply_106a = stablehlo.multiply %maximum, %broadcast_in_dim_8ac6 : tensor<2xf32>
      %c_1e-06 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
      %broadcast_in_dim_8d2e = stablehlo.broadcast_in_dim %c_1e-06, dims = [] : (tensor<f32>) -> tensor<2xf32>
      %add_be1d = stablehlo.add %broadcast_in_dim_8d2e, %multiply_106a : tensor<2xf32>
      %divide_6429 = stablehlo.divide %call_4952, %add_be1d : tensor<2xf32>
      %dot_general_b13a = stablehlo.dot_general %divide_6429, %divide_6429, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
      %sqrt = stablehlo.sqrt %dot_general_b13a : tensor<f32>
      %c_1.41421 = stablehlo.constant dense<1.41421354> : tensor<f32>
      %divide_2d48 = stablehlo.divide %sqrt, %c_1.41421 : tensor<f32>
      %c_1_e153 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %compare_df0d = stablehlo.compare LT, %divide_2d48, %c_1_e153, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %c_1_fdf5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %divide_4b97 = stablehlo.divide %c_1_fdf5, %divide_2d48 : tensor<f32>
      %c_0.2_7fc6 = stablehlo.constant dense<2.000000e-01> : tensor<f32>
      %power = stablehlo.power %divide_4b97, %c_0.2_7fc6 : tensor<f32>
      %c_1_5fc7 = stablehlo.constant dense<1> : tensor<i32>
      %c_0.2_5541 = stablehlo.constant dense<2.000000e-01> : tensor<f32>
      %call_7b5b = func.call @select_4724be(%compare_df0d, %c_1_5fc7, %c_0.2_5541) : (tensor<i1>, tensor<i32>, tensor<f32>) -> tensor<f32>
      %c_10_caad = stablehlo.constant dense<1.000000e+01> : tensor<f32>
      %c_0.9_9906 = stablehlo.constant dense<0.899999976> : tensor<f32>
      %call_dc97 = func.call @select_4f9a10(%compare_df0d, %c_10_caad, %c_0.9_9906) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %c_0.9_4eaa = stablehlo.constant dense<0.899999976> : tensor<f32>
      %multiply_4ad0 = stablehlo.multiply %c_0.9_4eaa, %power : tensor<f32>
      %c_1_3708 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %multiply_acb9 = stablehlo.multiply %multiply_4ad0, %c_1_3708 : tensor<f32>
      %c_1_0c5f = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %multiply_9774 = stablehlo.multiply %multiply_acb9, %c_1_0c5f : tensor<f32>
      %call_55e0 = func.call @minimum_e1e6d6(%multiply_9774, %call_dc97, %call_7b5b) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %multiply_1458 = stablehlo.multiply %subtract_8e63, %call_55e0 : tensor<f32>
      %c_0_a309 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %compare_5a1b = stablehlo.compare EQ, %divide_4b97, %c_0_a309, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %call_26fb = func.call @compare_0bb748(%divide_4b97) : (tensor<f32>) -> tensor<i1>
      %or_963f = stablehlo.or %compare_5a1b, %call_26fb : tensor<i1>
      %c_1_e401 = stablehlo.constant dense<1> : tensor<i32>
      %call_ba22 = func.call @select_4724be(%or_963f, %c_1_e401, %divide_4b97) : (tensor<i1>, tensor<i32>, tensor<f32>) -> tensor<f32>
      %call_4bad = func.call @select_4f9a10(%compare_df0d, %carry_d937, %carry_7241) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %add_04fb = stablehlo.add %call_4bad, %multiply_1458 : tensor<f32>
      %call_7e0a = func.call @select_4f9a10(%compare_df0d, %call_ba22, %carry_4c04) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %call_3d34 = func.call @select_4f9a10(%compare_df0d, %carry_4c04, %carry_777f) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %minimum_c594 = stablehlo.minimum %call_4bad, %carry_b2fc : tensor<f32>
      %compare_df0a = stablehlo.compare GT, %add_04fb, %carry_8171, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %subtract_492d = stablehlo.subtract %carry_b2fc, %minimum_c594 : tensor<f32>
      %c_0.5 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %multiply_c1ce = stablehlo.multiply %c_0.5, %subtract_492d : tensor<f32>
      %add_e2e6 = stablehlo.add %minimum_c594, %multiply_c1ce : tensor<f32>
      %call_f7aa = func.call @select_4f9a10(%compare_df0d, %carry_b2fc, %add_e2e6) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %call_245f = func.call @select_4f9a10(%compare_df0a, %call_f7aa, %add_04fb) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %compare_5d5d = stablehlo.compare EQ, %carry_8d67, %carry_b2fc, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %subtract_380a = stablehlo.subtract %minimum_c594, %carry_8d67 : tensor<f32>
      %c_0_0c4d = stablehlo.constant dense<0> : tensor<i32>
      %call_bd4c = func.call @select_4724be(%compare_5d5d, %c_0_0c4d, %subtract_380a) : (tensor<i1>, tensor<i32>, tensor<f32>) -> tensor<f32>
      %subtract_2455 = stablehlo.subtract %carry_b2fc, %carry_8d67 : tensor<f32>
      %c_1_c5dc = stablehlo.constant dense<1> : tensor<i32>
      %call_01f4 = func.call @select_4724be(%compare_5d5d, %c_1_c5dc, %subtract_2455) : (tensor<i1>, tensor<i32>, tensor<f32>) -> tensor<f32>
      %divide_af8c = stablehlo.divide %call_bd4c, %call_01f4 : tensor<f32>
      %call_84f0 = func.call @select_4609ec(%compare_df0d, %while_b085#13, %carry_e90f) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %c_false_1247 = stablehlo.constant dense<false> : tensor<i1>
      %call_8718 = func.call @select_723609(%compare_df0d, %c_false_1247, %carry_d55d) : (tensor<i1>, tensor<i1>, tensor<i1>) -> tensor<i1>
      %call_3884 = func.call @select_4609ec(%compare_df0d, %while_b085#14, %carry_3088) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %c_1_0ff0 = stablehlo.constant dense<1> : tensor<i32>
      %add_834c = stablehlo.add %carry_c860, %c_1_0ff0 : tensor<i32>
      %c_1_a75e = stablehlo.constant dense<1> : tensor<i32>
      %c_0_44bc = stablehlo.constant dense<0> : tensor<i32>
      %call_43a5 = func.call @select_eb84ca(%compare_df0d, %c_1_a75e, %c_0_44bc) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      %add_019e = stablehlo.add %carry_4928, %call_43a5 : tensor<i32>
      %c_0_8316 = stablehlo.constant dense<0> : tensor<i32>
      %c_1_a074 = stablehlo.constant dense<1> : tensor<i32>
      %call_b2cd = func.call @select_eb84ca(%compare_df0d, %c_0_8316, %c_1_a074) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      %add_0072 = stablehlo.add %carry_07f0, %call_b2cd : tensor<i32>
      %c_0_270c = stablehlo.constant dense<0> : tensor<i32>
      %compare_b534 = stablehlo.compare LT, %carry_d4d4, %c_0_270c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %convert_ec46 = stablehlo.convert %carry_d4d4 : tensor<i32>
      %c_16_e0a0 = stablehlo.constant dense<16> : tensor<i32>
      %add_d445 = stablehlo.add %convert_ec46, %c_16_e0a0 : tensor<i32>
      %select_0cba = stablehlo.select %compare_b534, %add_d445, %carry_d4d4 : tensor<i1>, tensor<i32>
      %dynamic_slice_669d = stablehlo.dynamic_slice %carry_7bd0, %select_0cba, sizes = [1] : (tensor<16xf32>, tensor<i32>) -> tensor<1xf32>
      %reshape_0ee6 = stablehlo.reshape %dynamic_slice_669d : (tensor<1xf32>) -> tensor<f32>
      %compare_af51 = stablehlo.compare LE, %reshape_0ee6, %carry_d937, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %and_19b0 = stablehlo.and %compare_df0d, %compare_af51 : tensor<i1>
      %c_16_996a = stablehlo.constant dense<16> : tensor<i32>
      %compare_cbf3 = stablehlo.compare LT, %carry_d4d4, %c_16_996a, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_false_64b8 = stablehlo.constant dense<false> : tensor<i1>
      %broadcast_in_dim_2f6e = stablehlo.broadcast_in_dim %c_false_64b8, dims = [] : (tensor<i1>) -> tensor<i1>
      %compare_d391 = stablehlo.compare NE, %compare_cbf3, %broadcast_in_dim_2f6e, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %convert_8110 = stablehlo.convert %compare_d391 : tensor<i1>
      %and_0afd = stablehlo.and %and_19b0, %convert_8110 : tensor<i1>
      %c_0_b17a = stablehlo.constant dense<0> : tensor<i32>
      %c_true_c27f = stablehlo.constant dense<true> : tensor<i1>
      %while_5190:18 = stablehlo.while(%carry_feac = %carry_7bd0, %carry_4d38 = %carry_d937, %carry_6893 = %compare_df0d, %carry_0fd8 = %carry_7bd0, %carry_1e2e = %carry_7241, %carry_7819 = %carry_d937, %carry_442a = %while_b085#15, %carry_966a = %carry_e90f, %carry_091b = %compare_df0d, %carry_c784 = %c_0_b17a, %carry_399e = %and_0afd, %carry_4723_64 = %c_true_c27f, %carry_2569 = %carry_d4d4, %carry_64fc = %carry_76b4, %carry_e0de = %carry_5fc6, %carry_55bf = %carry_ec88, %carry_8912 = %carry_5fc6, %carry_08ad = %carry_cf55) : tensor<16xf32>, tensor<f32>, tensor<i1>, tensor<16xf32>, tensor<f32>, tensor<f32>, tensor<7x2xf32>, tensor<2xf32>, tensor<i1>, tensor<i32>, tensor<i1>, tensor<i1>, tensor<i32>, tensor<16xf32>, tensor<i1>, tensor<16x2xf32>, tensor<i1>, tensor<i32>
      cond {
        %c_0_63f1 = stablehlo.constant dense<0> : tensor<i32>
        %compare_538a = stablehlo.compare LT, %carry_2569, %c_0_63f1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %convert_ba61 = stablehlo.convert %carry_2569 : tensor<i32>
        %c_16_364f = stablehlo.constant dense<16> : tensor<i32>
        %add_063e = stablehlo.add %convert_ba61, %c_16_364f : tensor<i32>
        %select_b58d = stablehlo.select %compare_538a, %add_063e, %carry_2569 : tensor<i1>, tensor<i32>
        %dynamic_slice_872b = stablehlo.dynamic_slice %carry_feac, %select_b58d, sizes = [1] : (tensor<16xf32>, tensor<i32>) -> tensor<1xf32>
        %reshape_f34c = stablehlo.reshape %dynamic_slice_872b : (tensor<1xf32>) -> tensor<f32>
        %compare_ea75 = stablehlo.compare LE, %reshape_f34c, %carry_4d38, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %and_3e78 = stablehlo.and %carry_6893, %compare_ea75 : tensor<i1>
        %c_16_3d66 = stablehlo.constant dense<16> : tensor<i32>
        %compare_2c32 = stablehlo.compare LT, %carry_2569, %c_16_3d66, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_false_c35c = stablehlo.constant dense<false> : tensor<i1>
        %broadcast_in_dim_c487 = stablehlo.broadcast_in_dim %c_false_c35c, dims = [] : (tensor<i1>) -> tensor<i1>
        %compare_52b6 = stablehlo.compare NE, %compare_2c32, %broadcast_in_dim_c487, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %convert_6af7 = stablehlo.convert %compare_52b6 : tensor<i1>
        %and_9ad4 = stablehlo.and %and_3e78, %convert_6af7 : tensor<i1>
        %c_false_1567 = stablehlo.constant dense<false> : tensor<i1>
        %reduce_or_687d = stablehlo.reduce(%and_9ad4 init: %c_false_1567) applies stablehlo.or across dimensions = [] : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %c_16_0b7c = stablehlo.constant dense<16> : tensor<i32>
        %compare_5d7a = stablehlo.compare LT, %carry_c784, %c_16_0b7c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_false_6bf8 = stablehlo.constant dense<false> : tensor<i1>
        %broadcast_in_dim_00e2 = stablehlo.broadcast_in_dim %c_false_6bf8, dims = [] : (tensor<i1>) -> tensor<i1>
        %compare_70bc = stablehlo.compare NE, %compare_5d7a, %broadcast_in_dim_00e2, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %convert_d708 = stablehlo.convert %compare_70bc : tensor<i1>
        %and_606c = stablehlo.and %reduce_or_687d, %convert_d708 : tensor<i1>
        stablehlo.return %and_606c : tensor<i1>
      } do {
        %c_0_d3db = stablehlo.constant dense<0> : tensor<i32>
        %compare_6e22 = stablehlo.compare LT, %carry_2569, %c_0_d3db, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %convert_f16f = stablehlo.convert %carry_2569 : tensor<i32>
        %c_16_b8a2 = stablehlo.constant dense<16> : tensor<i32>
        %add_8c85 = stablehlo.add %convert_f16f, %c_16_b8a2 : tensor<i32>
        %select_b884 = stablehlo.select %compare_6e22, %add_8c85, %carry_2569 : tensor<i1>, tensor<i32>
        %dynamic_slice_cc36 = stablehlo.dynamic_slice %carry_0fd8, %select_b884, sizes = [1] : (tensor<16xf32>, tensor<i32>) -> tensor<1xf32>
        %reshape_a6f0 = stablehlo.reshape %dynamic_slice_cc36 : (tensor<1xf32>) -> tensor<f32>
        %compare_5cdb = stablehlo.compare EQ, %carry_1e2e, %carry_7819, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %subtract_39b3 = stablehlo.subtract %reshape_a6f0, %carry_1e2e : tensor<f32>
        %c_0_d704 = stablehlo.constant dense<0> : tensor<i32>
        %call_c29f = func.call @select_4724be(%compare_5cdb, %c_0_d704, %subtract_39b3) : (tensor<i1>, tensor<i32>, tensor<f32>) -> tensor<f32>
        %subtract_1b20 = stablehlo.subtract %carry_7819, %carry_1e2e : tensor<f32>
        %c_1_bdeb = stablehlo.constant dense<1> : tensor<i32>
        %call_8ae0 = func.call @select_4724be(%compare_5cdb, %c_1_bdeb, %subtract_1b20) : (tensor<i1>, tensor<i32>, tensor<f32>) -> tensor<f32>
        %divide_e4f3 = stablehlo.divide %call_c29f, %call_8ae0 : tensor<f32>
        %c_-1.05309 = stablehlo.constant dense<-1.05308855> : tensor<f32>
        %multiply_1470 = stablehlo.multiply %c_-1.05309, %divide_e4f3 : tensor<f32>
        %c_1.32999 = stablehlo.constant dense<1.32998908> : tensor<f32>
        %subtract_d555 = stablehlo.subtract %divide_e4f3, %c_1.32999 : tensor<f32>
        %multiply_3dd9 = stablehlo.multiply %multiply_1470, %subtract_d555 : tensor<f32>
        %multiply_0150 = stablehlo.multiply %divide_e4f3, %divide_e4f3 : tensor<f32>
        %c_1.4364 = stablehlo.constant dense<1.4364028> : tensor<f32>
        %multiply_57bf = stablehlo.multiply %c_1.4364, %divide_e4f3 : tensor<f32>
        %subtract_e03d = stablehlo.subtract %multiply_0150, %multiply_57bf : tensor<f32>
        %c_0.713982 = stablehlo.constant dense<0.713981688> : tensor<f32>
        %add_0c8c = stablehlo.add %subtract_e03d, %c_0.713982 : tensor<f32>
        %multiply_37c9 = stablehlo.multiply %multiply_3dd9, %add_0c8c : tensor<f32>
        %multiply_661f = stablehlo.multiply %divide_e4f3, %divide_e4f3 : tensor<f32>
        %c_0.1017 = stablehlo.constant dense<1.017000e-01> : tensor<f32>
        %multiply_dc29 = stablehlo.multiply %c_0.1017, %multiply_661f : tensor<f32>
        %multiply_020a = stablehlo.multiply %divide_e4f3, %divide_e4f3 : tensor<f32>
        %c_2.19666 = stablehlo.constant dense<2.19665694> : tensor<f32>
        %multiply_85e8 = stablehlo.multiply %c_2.19666, %divide_e4f3 : tensor<f32>
        %subtract_f722 = stablehlo.subtract %multiply_020a, %multiply_85e8 : tensor<f32>
        %c_1.29499 = stablehlo.constant dense<1.29498529> : tensor<f32>
        %add_46c6 = stablehlo.add %subtract_f722, %c_1.29499 : tensor<f32>
        %multiply_c684 = stablehlo.multiply %multiply_dc29, %add_46c6 : tensor<f32>
        %multiply_7fb5 = stablehlo.multiply %divide_e4f3, %divide_e4f3 : tensor<f32>
        %c_2.49063 = stablehlo.constant dense<2.49062729> : tensor<f32>
        %multiply_8248 = stablehlo.multiply %c_2.49063, %multiply_7fb5 : tensor<f32>
        %multiply_b40f = stablehlo.multiply %divide_e4f3, %divide_e4f3 : tensor<f32>
        %c_2.38536 = stablehlo.constant dense<2.38535643> : tensor<f32>
        %multiply_d6ef = stablehlo.multiply %c_2.38536, %divide_e4f3 : tensor<f32>
        %subtract_1b70 = stablehlo.subtract %multiply_b40f, %multiply_d6ef : tensor<f32>
        %c_1.57803 = stablehlo.constant dense<1.57803464> : tensor<f32>
        %add_cd3a = stablehlo.add %subtract_1b70, %c_1.57803 : tensor<f32>
        %multiply_e6e4 = stablehlo.multiply %multiply_8248, %add_cd3a : tensor<f32>
        %c_1.21713 = stablehlo.constant dense<1.21712923> : tensor<f32>
        %subtract_28c9 = stablehlo.subtract %divide_e4f3, %c_1.21713 : tensor<f32>
        %c_-16.5481 = stablehlo.constant dense<-16.5481033> : tensor<f32>
        %multiply_a163 = stablehlo.multiply %c_-16.5481, %subtract_28c9 : tensor<f32>
        %c_0.616204 = stablehlo.constant dense<0.616204082> : tensor<f32>
        %subtract_cce4 = stablehlo.subtract %divide_e4f3, %c_0.616204 : tensor<f32>
        %multiply_696e = stablehlo.multiply %multiply_a163, %subtract_cce4 : tensor<f32>
        %multiply_d613 = stablehlo.multiply %divide_e4f3, %divide_e4f3 : tensor<f32>
        %multiply_3870 = stablehlo.multiply %multiply_696e, %multiply_d613 : tensor<f32>
        %c_1.20307 = stablehlo.constant dense<1.20307124> : tensor<f32>
        %subtract_abd7 = stablehlo.subtract %divide_e4f3, %c_1.20307 : tensor<f32>
        %c_47.3795 = stablehlo.constant dense<47.3795204> : tensor<f32>
        %multiply_d154 = stablehlo.multiply %c_47.3795, %subtract_abd7 : tensor<f32>
        %c_0.658047 = stablehlo.constant dense<0.658047318> : tensor<f32>
        %subtract_e68c = stablehlo.subtract %divide_e4f3, %c_0.658047 : tensor<f32>
        %multiply_e210 = stablehlo.multiply %multiply_d154, %subtract_e68c : tensor<f32>
        %multiply_7139 = stablehlo.multiply %divide_e4f3, %divide_e4f3 : tensor<f32>
        %multiply_e425 = stablehlo.multiply %multiply_e210, %multiply_7139 : tensor<f32>
        %c_1.2 = stablehlo.constant dense<1.200000e+00> : tensor<f32>
        %subtract_559e = stablehlo.subtract %divide_e4f3, %c_1.2 : tensor<f32>
        %c_-34.8707 = stablehlo.constant dense<-34.8706589> : tensor<f32>
        %multiply_57ec = stablehlo.multiply %c_-34.8707, %subtract_559e : tensor<f32>
        %c_0.666667 = stablehlo.constant dense<0.666666686> : tensor<f32>
        %subtract_2a3a = stablehlo.subtract %divide_e4f3, %c_0.666667 : tensor<f32>
        %multiply_b67d = stablehlo.multiply %multiply_57ec, %subtract_2a3a : tensor<f32>
        %multiply_0665 = stablehlo.multiply %divide_e4f3, %divide_e4f3 : tensor<f32>
        %multiply_0b26 = stablehlo.multiply %multiply_b67d, %multiply_0665 : tensor<f32>
        %c_1_44a7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
        %subtract_5dd7 = stablehlo.subtract %divide_e4f3, %c_1_44a7 : tensor<f32>
        %c_2.5 = stablehlo.constant dense<2.500000e+00> : tensor<f32>
        %multiply_ad37 = stablehlo.multiply %c_2.5, %subtract_5dd7 : tensor<f32>
        %c_0.6 = stablehlo.constant dense<6.000000e-01> : tensor<f32>
        %subtract_2249 = stablehlo.subtract %divide_e4f3, %c_0.6 : tensor<f32>
        %multiply_ccf8 = stablehlo.multiply %multiply_ad37, %subtract_2249 : tensor<f32>
        %multiply_d019 = stablehlo.multiply %divide_e4f3, %divide_e4f3 : tensor<f32>
        %multiply_7812 = stablehlo.multiply %multiply_ccf8, %multiply_d019 : tensor<f32>
        %broadcast_in_dim_6aaf = stablehlo.broadcast_in_dim %multiply_37c9, dims = [] : (tensor<f32>) -> tensor<1xf32>
        %broadcast_in_dim_b908 = stablehlo.broadcast_in_dim %multiply_c684, dims = [] : (tensor<f32>) -> tensor<1xf32>
        %broadcast_in_dim_eab1 = stablehlo.broadcast_in_dim %multiply_e6e4, dims = [] : (tensor<f32>) -> tensor<1xf32>
        %broadcast_in_dim_680b = stablehlo.broadcast_in_dim %multiply_3870, dims = [] : (tensor<f32>) -> tensor<1xf32>
        %broadcast_in_dim_e487 = stablehlo.broadcast_in_dim %multiply_e425, dims = [] : (tensor<f32>) -> tensor<1xf32>
        %broadcast_in_dim_f881 = stablehlo.broadcast_in_dim %multiply_0b26, dims = [] : (tensor<f32>) -> tensor<1xf32>
        %broadcast_in_dim_9013 = stablehlo.broadcast_in_dim %multiply_7812, dims = [] : (tensor<f32>) -> tensor<1xf32>
        %concatenate_a127 = stablehlo.concatenate %broadcast_in_dim_6aaf, %broadcast_in_dim_b908, %broadcast_in_dim_eab1, %broadcast_in_dim_680b, %broadcast_in_dim_e487, %broadcast_in_dim_f881, %broadcast_in_dim_9013, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<7xf32>
        %dot_general_4459 = stablehlo.dot_general %concatenate_a127, %carry_442a, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<7xf32>, tensor<7x2xf32>) -> tensor<2xf32>
        %add_9190 = stablehlo.add %carry_966a, %dot_general_4459 : tensor<2xf32>
        %c_true_dc38 = stablehlo.constant dense<true> : tensor<i1>
        %and_a853 = stablehlo.and %c_true_dc38, %carry_e0de : tensor<i1>
        %and_bb52 = stablehlo.and %and_a853, %carry_399e : tensor<i1>
        %c_0_4fae = stablehlo.constant dense<0> : tensor<i32>
        %compare_49e0 = stablehlo.compare LT, %carry_08ad, %c_0_4fae, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %convert_a957 = stablehlo.convert %carry_08ad : tensor<i32>
        %c_16_833c = stablehlo.constant dense<16> : tensor<i32>
        %add_c001 = stablehlo.add %convert_a957, %c_16_833c : tensor<i32>
        %select_b643 = stablehlo.select %compare_49e0, %add_c001, %carry_08ad : tensor<i1>, tensor<i32>
        %dynamic_slice_1f0b = stablehlo.dynamic_slice %carry_64fc, %select_b643, sizes = [1] : (tensor<16xf32>, tensor<i32>) -> tensor<1xf32>
        %reshape_ac43 = stablehlo.reshape %dynamic_slice_1f0b : (tensor<1xf32>) -> tensor<f32>
        %c_0_295d = stablehlo.constant dense<0> : tensor<i32>
        %compare_1c53 = stablehlo.compare LT, %carry_08ad, %c_0_295d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_16_79f5 = stablehlo.constant dense<16> : tensor<i32>
        %add_2968 = stablehlo.add %carry_08ad, %c_16_79f5 : tensor<i32>
        %select_bdf6 = stablehlo.select %compare_1c53, %add_2968, %carry_08ad : tensor<i1>, tensor<i32>
        %convert_b555 = stablehlo.convert %select_bdf6 : tensor<i32>
        %broadcast_in_dim_c750 = stablehlo.broadcast_in_dim %convert_b555, dims = [] : (tensor<i32>) -> tensor<1xi32>
        %scatter_5da7 = "stablehlo.scatter"(%carry_64fc, %broadcast_in_dim_c750, %reshape_a6f0) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
        ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
          stablehlo.return %a1 : tensor<f32>
        }) : (tensor<16xf32>, tensor<1xi32>, tensor<f32>) -> tensor<16xf32>
        %c_true_dc27 = stablehlo.constant dense<true> : tensor<i1>
        %and_72e9 = stablehlo.and %c_true_dc27, %carry_8912 : tensor<i1>
        %and_efcc = stablehlo.and %and_72e9, %carry_399e : tensor<i1>
        %convert_a5c6 = stablehlo.convert %carry_08ad : tensor<i32>
        %c_0_5a37 = stablehlo.constant dense<0> : tensor<i32>
        %compare_86a6 = stablehlo.compare LT, %convert_a5c6, %c_0_5a37, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_16_ab45 = stablehlo.constant dense<16> : tensor<i32>
        %add_6501 = stablehlo.add %convert_a5c6, %c_16_ab45 : tensor<i32>
        %select_4326 = stablehlo.select %compare_86a6, %add_6501, %convert_a5c6 : tensor<i1>, tensor<i32>
        %c_0_f183 = stablehlo.constant dense<0> : tensor<i32>
        %c_0_5a77 = stablehlo.constant dense<0> : tensor<i32>
        %compare_a7ff = stablehlo.compare LT, %c_0_f183, %c_0_5a77, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_0_dabd = stablehlo.constant dense<0> : tensor<i32>
        %c_2_5d8c = stablehlo.constant dense<2> : tensor<i32>
        %add_1461 = stablehlo.add %c_0_dabd, %c_2_5d8c : tensor<i32>
        %c_0_e1b3 = stablehlo.constant dense<0> : tensor<i32>
        %select_9ffb = stablehlo.select %compare_a7ff, %add_1461, %c_0_e1b3 : tensor<i1>, tensor<i32>
        %dynamic_slice_d12e = stablehlo.dynamic_slice %carry_55bf, %select_4326, %select_9ffb, sizes = [1, 2] : (tensor<16x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
        %reshape_42df = stablehlo.reshape %dynamic_slice_d12e : (tensor<1x2xf32>) -> tensor<2xf32>
        %c_0_3c40 = stablehlo.constant dense<0> : tensor<i32>
        %compare_cd87 = stablehlo.compare LT, %carry_08ad, %c_0_3c40, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_16_0d7e = stablehlo.constant dense<16> : tensor<i32>
        %add_dfae = stablehlo.add %carry_08ad, %c_16_0d7e : tensor<i32>
        %select_d358 = stablehlo.select %compare_cd87, %add_dfae, %carry_08ad : tensor<i1>, tensor<i32>
        %convert_68df = stablehlo.convert %select_d358 : tensor<i32>
        %broadcast_in_dim_6180 = stablehlo.broadcast_in_dim %convert_68df, dims = [] : (tensor<i32>) -> tensor<1xi32>
        %scatter_ecdb = "stablehlo.scatter"(%carry_55bf, %broadcast_in_dim_6180, %add_9190) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
        ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
          stablehlo.return %a1 : tensor<f32>
        }) : (tensor<16x2xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<16x2xf32>
        %c_1_05d8 = stablehlo.constant dense<1> : tensor<i32>
        %add_640b = stablehlo.add %carry_2569, %c_1_05d8 : tensor<i32>
        %c_1_b5c0 = stablehlo.constant dense<1> : tensor<i32>
        %add_84a4 = stablehlo.add %carry_08ad, %c_1_b5c0 : tensor<i32>
        %c_1_c213 = stablehlo.constant dense<1> : tensor<i32>
        %add_e1b7 = stablehlo.add %carry_c784, %c_1_c213 : tensor<i32>
        %c_0_db18 = stablehlo.constant dense<0> : tensor<i32>
        %compare_b742 = stablehlo.compare LT, %add_640b, %c_0_db18, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %convert_4315 = stablehlo.convert %add_640b : tensor<i32>
        %c_16_0bd4 = stablehlo.constant dense<16> : tensor<i32>
        %add_5a14 = stablehlo.add %convert_4315, %c_16_0bd4 : tensor<i32>
        %select_7ae4 = stablehlo.select %compare_b742, %add_5a14, %add_640b : tensor<i1>, tensor<i32>
        %dynamic_slice_3775 = stablehlo.dynamic_slice %carry_0fd8, %select_7ae4, sizes = [1] : (tensor<16xf32>, tensor<i32>) -> tensor<1xf32>
        %reshape_af3c = stablehlo.reshape %dynamic_slice_3775 : (tensor<1xf32>) -> tensor<f32>
        %compare_5776 = stablehlo.compare LE, %reshape_af3c, %carry_7819, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %and_e7b7 = stablehlo.and %carry_091b, %compare_5776 : tensor<i1>
        %c_16_b812 = stablehlo.constant dense<16> : tensor<i32>
        %compare_d870 = stablehlo.compare LT, %add_640b, %c_16_b812, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_false_5d4d = stablehlo.constant dense<false> : tensor<i1>
        %broadcast_in_dim_4e59 = stablehlo.broadcast_in_dim %c_false_5d4d, dims = [] : (tensor<i1>) -> tensor<i1>
        %compare_91ce = stablehlo.compare NE, %compare_d870, %broadcast_in_dim_4e59, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %convert_6152 = stablehlo.convert %compare_91ce : tensor<i1>
        %and_0b1c = stablehlo.and %and_e7b7, %convert_6152 : tensor<i1>
        %and_6e22 = stablehlo.and %carry_399e, %and_0b1c : tensor<i1>
        stablehlo.return %carry_feac, %carry_4d38, %carry_6893, %carry_0fd8, %carry_1e2e, %carry_7819, %carry_442a, %carry_966a, %carry_091b, %add_e1b7, %and_6e22, %carry_399e, %add_640b, %scatter_5da7, %carry_e0de, %scatter_ecdb, %carry_8912, %add_84a4 : tensor<16xf32>, tensor<f32>, tensor<i1>, tensor<16xf32>, tensor<f32>, tensor<f32>, tensor<7x2xf32>, tensor<2xf32>, tensor<i1>, tensor<i32>, tensor<i1>, tensor<i1>, tensor<i32>, tensor<16xf32>, tensor<i1>, tensor<16x2xf32>, tensor<i1>, tensor<i32>
      }
      %c_0_8955_2 = stablehlo.constant dense<0> : tensor<i32>
      %c_true_632a_2 = stablehlo.constant dense<true> : tensor<i1>
      %c_false_0dc5 = stablehlo.constant dense<false> : tensor<i1>
      %c_0_0786 = stablehlo.constant dense<0> : tensor<i32>
      %c_1_1d69 = stablehlo.constant dense<1> : tensor<i32>
      %add_ea00 = stablehlo.add %carry_fd46, %c_1_1d69 : tensor<i32>
      %compare_6bac = stablehlo.compare LT, %minimum_c594, %carry_b2fc, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %and_4dfb = stablehlo.and %compare_6bac, %carry_f7ad : tensor<i1>
      %and_10ac = stablehlo.and %carry_5fc6, %and_4dfb : tensor<i1>
      stablehlo.return %carry_2d72, %carry_9fd9, %carry_e7f2, %carry_bec2, %carry_0b1f, %carry_9595, %carry_9649, %carry_7bd6, %carry_b2fc, %carry_8171, %carry_8d67, %carry_7bd0, %carry_f7ad, %add_ea00, %and_10ac, %carry_5fc6, %call_84f0, %minimum_c594, %call_245f, %c_false_0dc5, %call_8718, %call_3884, %call_7e0a, %call_3d34, %carry_fcc7, %c_0_0786, %add_834c, %add_019e, %add_0072, %while_5190#12, %while_5190#13, %while_5190#15, %while_5190#17 : tensor<f32>, tensor<i1>, tensor<i32>, tensor<7x7xf32>, tensor<7xf32>, tensor<4xf32>, tensor<7xf32>, tensor<i1>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<16xf32>, tensor<i1>, tensor<i32>, tensor<i1>, tensor<i1>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<i1>, tensor<i1>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<16xf32>, tensor<16x2xf32>, tensor<i32>
    }
    %c_0_8955_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_true_632a_3 = stablehlo.constant dense<true> : tensor<i1>
    %compare_578b = stablehlo.compare EQ, %multiply_793f, %multiply_2297, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c_false_4f70 = stablehlo.constant dense<false> : tensor<i1>
    %reduce_or_6e1d = stablehlo.reduce(%compare_578b init: %c_false_4f70) applies stablehlo.or across dimensions = [] : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %convert_bb8b = stablehlo.convert %reduce_or_6e1d : (tensor<i1>) -> tensor<i32>
    %case_d71e:2 = "stablehlo.case"(%convert_bb8b) ({
      stablehlo.return %while_f4d6#30, %while_f4d6#31 : tensor<16xf32>, tensor<16x2xf32>
    }, {
      %compare_01d5 = stablehlo.compare EQ, %multiply_793f, %multiply_2297, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %convert_ddd0 = stablehlo.convert %compare_01d5 : (tensor<i1>) -> tensor<i32>
      %case_de66:2 = "stablehlo.case"(%convert_ddd0) ({
        stablehlo.return %while_f4d6#30, %while_f4d6#31 : tensor<16xf32>, tensor<16x2xf32>
      }, {
        %broadcast_in_dim_7a88 = stablehlo.broadcast_in_dim %multiply_793f, dims = [] : (tensor<f32>) -> tensor<16xf32>
        %c_0_da9d = stablehlo.constant dense<0> : tensor<i32>
        %compare_7653 = stablehlo.compare LT, %while_f4d6#32, %c_0_da9d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %convert_873b = stablehlo.convert %while_f4d6#32 : tensor<i32>
        %c_16_19c7 = stablehlo.constant dense<16> : tensor<i32>
        %add_33bf = stablehlo.add %convert_873b, %c_16_19c7 : tensor<i32>
        %select_da77 = stablehlo.select %compare_7653, %add_33bf, %while_f4d6#32 : tensor<i1>, tensor<i32>
        %dynamic_update_slice_d84e = stablehlo.dynamic_update_slice %while_f4d6#30, %broadcast_in_dim_7a88, %select_da77 : (tensor<16xf32>, tensor<16xf32>, tensor<i32>) -> tensor<16xf32>
        %c_1_9809 = stablehlo.constant dense<1> : tensor<i32>
        %case_7cb7 = "stablehlo.case"(%c_1_9809) ({
          %convert_4ec0 = stablehlo.convert %while_f4d6#32 : tensor<i32>
          %c_0_f4f3 = stablehlo.constant dense<0> : tensor<i32>
          %compare_f6b3 = stablehlo.compare LT, %convert_4ec0, %c_0_f4f3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %c_16_e1e4 = stablehlo.constant dense<16> : tensor<i32>
          %add_142f = stablehlo.add %convert_4ec0, %c_16_e1e4 : tensor<i32>
          %select_3afb = stablehlo.select %compare_f6b3, %add_142f, %convert_4ec0 : tensor<i1>, tensor<i32>
          %c_0_8ae4 = stablehlo.constant dense<0> : tensor<i32>
          %c_0_ae2c = stablehlo.constant dense<0> : tensor<i32>
          %compare_9aa2 = stablehlo.compare LT, %c_0_8ae4, %c_0_ae2c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %c_0_8181 = stablehlo.constant dense<0> : tensor<i32>
          %c_2_5c1f = stablehlo.constant dense<2> : tensor<i32>
          %add_1590 = stablehlo.add %c_0_8181, %c_2_5c1f : tensor<i32>
          %c_0_5e1a = stablehlo.constant dense<0> : tensor<i32>
          %select_004d = stablehlo.select %compare_9aa2, %add_1590, %c_0_5e1a : tensor<i1>, tensor<i32>
          %dynamic_slice_8250 = stablehlo.dynamic_slice %while_f4d6#31, %select_3afb, %select_004d, sizes = [1, 2] : (tensor<16x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
          %reshape_bdc6 = stablehlo.reshape %dynamic_slice_8250 : (tensor<1x2xf32>) -> tensor<2xf32>
          stablehlo.return %reshape_bdc6 : tensor<2xf32>
        }, {
          stablehlo.return %while_f4d6#16 : tensor<2xf32>
        }) : (tensor<i32>) -> tensor<2xf32>
        %broadcast_in_dim_a199 = stablehlo.broadcast_in_dim %case_7cb7, dims = [1] : (tensor<2xf32>) -> tensor<16x2xf32>
        %c_0_8d68 = stablehlo.constant dense<0> : tensor<i32>
        %compare_b5d3 = stablehlo.compare LT, %while_f4d6#32, %c_0_8d68, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %convert_434f = stablehlo.convert %while_f4d6#32 : tensor<i32>
        %c_16_3f35 = stablehlo.constant dense<16> : tensor<i32>
        %add_9cb5 = stablehlo.add %convert_434f, %c_16_3f35 : tensor<i32>
        %select_7e82 = stablehlo.select %compare_b5d3, %add_9cb5, %while_f4d6#32 : tensor<i1>, tensor<i32>
        %c_0_c8ce = stablehlo.constant dense<0> : tensor<i32>
        %dynamic_update_slice_f9a4 = stablehlo.dynamic_update_slice %while_f4d6#31, %broadcast_in_dim_a199, %select_7e82, %c_0_c8ce : (tensor<16x2xf32>, tensor<16x2xf32>, tensor<i32>, tensor<i32>) -> tensor<16x2xf32>
        stablehlo.return %dynamic_update_slice_d84e, %dynamic_update_slice_f9a4 : tensor<16xf32>, tensor<16x2xf32>
      }) : (tensor<i32>) -> (tensor<16xf32>, tensor<16x2xf32>)
      stablehlo.return %case_de66#0, %case_de66#1 : tensor<16xf32>, tensor<16x2xf32>
    }) : (tensor<i32>) -> (tensor<16xf32>, tensor<16x2xf32>)
    %compare_5fbd = stablehlo.compare LT, %while_f4d6#17, %multiply_2297, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %and_31c9 = stablehlo.and %compare_5fbd, %c_true_805f : tensor<i1>
    %c_1_b222 = stablehlo.constant dense<1> : tensor<i32>
    %call_23a1 = call @select_eb84ca(%and_31c9, %c_1_b222, %while_f4d6#25) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %convert_d193 = stablehlo.convert %call_64b4 : (tensor<i32>) -> tensor<f32>
    %broadcast_in_dim_4e57 = stablehlo.broadcast_in_dim %convert_d193, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %multiply_d5bb = stablehlo.multiply %case_d71e#0, %broadcast_in_dim_4e57 : tensor<16xf32>
    %convert_dab6 = stablehlo.convert %call_64b4 : (tensor<i32>) -> tensor<f32>
    %multiply_6b15 = stablehlo.multiply %multiply_793f, %convert_dab6 : tensor<f32>
    %convert_f377 = stablehlo.convert %call_64b4 : (tensor<i32>) -> tensor<f32>
    %multiply_6606 = stablehlo.multiply %multiply_2297, %convert_f377 : tensor<f32>
    %c_0_9fa7 = stablehlo.constant dense<0> : tensor<i32>
    %compare_0ada = stablehlo.compare EQ, %call_23a1, %c_0_9fa7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_11 = stablehlo.constant dense<11> : tensor<i32>
    %compare_9a0e = stablehlo.compare EQ, %call_23a1, %c_11, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %or_04cb = stablehlo.or %compare_0ada, %compare_9a0e : tensor<i1>
    %not = stablehlo.not %or_04cb : tensor<i1>
    %call_1681 = call @case_2fff10(%multiply_6b15, %multiply_6606, %multiply_d5bb, %case_d71e#1, %while_f4d6#27, %while_f4d6#28, %while_f4d6#26, %call_23a1, %not, %call_23a1) : (tensor<f32>, tensor<f32>, tensor<16xf32>, tensor<16x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>) -> tensor<16x2xf32>
    return %call_1681 : tensor<16x2xf32>
  }
  func.func private @identity_b21961(%arg0: tensor<f32>) -> tensor<f32> {
    return %arg0 : tensor<f32>
  }
  func.func private @select_eb84ca(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %select = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %select : tensor<i32>
  }
  func.func private @case_821839(%arg0: tensor<16xf32>, %arg1: tensor<15xi1>) -> tensor<16xf32> {
    %c_0x7FC00000 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %c_0x7FC00000, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_false = stablehlo.constant dense<false> : tensor<i1>
    %reduce_or = stablehlo.reduce(%arg1 init: %c_false) applies stablehlo.or across dimensions = [0] : (tensor<15xi1>, tensor<i1>) -> tensor<i1>
    %convert = stablehlo.convert %reduce_or : (tensor<i1>) -> tensor<i32>
    %case = "stablehlo.case"(%convert) ({
      stablehlo.return %arg0 : tensor<16xf32>
    }, {
      stablehlo.return %broadcast_in_dim : tensor<16xf32>
    }) : (tensor<i32>) -> tensor<16xf32>
    return %case : tensor<16xf32>
  }
  func.func private @case_77c975(%arg0: tensor<16xf32>, %arg1: tensor<16xi1>) -> tensor<16xf32> {
    %c_0x7FC00000 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %c_0x7FC00000, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_false = stablehlo.constant dense<false> : tensor<i1>
    %reduce_or = stablehlo.reduce(%arg1 init: %c_false) applies stablehlo.or across dimensions = [0] : (tensor<16xi1>, tensor<i1>) -> tensor<i1>
    %convert = stablehlo.convert %reduce_or : (tensor<i1>) -> tensor<i32>
    %case = "stablehlo.case"(%convert) ({
      stablehlo.return %arg0 : tensor<16xf32>
    }, {
      stablehlo.return %broadcast_in_dim : tensor<16xf32>
    }) : (tensor<i32>) -> tensor<16xf32>
    return %case : tensor<16xf32>
  }
  func.func private @select_4f9a10(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %select = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<f32>
    return %select : tensor<f32>
  }
  func.func private @case_2fff10(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<16xf32>, %arg3: tensor<16x2xf32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>, %arg7: tensor<i32>, %arg8: tensor<i1>, %arg9: tensor<i32>) -> tensor<16x2xf32> {
    %c_0x7FC00000_21d0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_b8c9 = stablehlo.broadcast_in_dim %c_0x7FC00000_21d0, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0x7FC00000_1780 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_e9cb = stablehlo.broadcast_in_dim %c_0x7FC00000_1780, dims = [] : (tensor<f32>) -> tensor<16x2xf32>
    %c_false = stablehlo.constant dense<false> : tensor<i1>
    %reduce_or = stablehlo.reduce(%arg8 init: %c_false) applies stablehlo.or across dimensions = [] : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %c_-2.14748e09 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %reduce_maximum = stablehlo.reduce(%arg9 init: %c_-2.14748e09) applies stablehlo.maximum across dimensions = [] : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %convert = stablehlo.convert %reduce_or : (tensor<i1>) -> tensor<i32>
    %case = "stablehlo.case"(%convert) ({
      stablehlo.return %arg3 : tensor<16x2xf32>
    }, {
      stablehlo.return %broadcast_in_dim_e9cb : tensor<16x2xf32>
    }) : (tensor<i32>) -> tensor<16x2xf32>
    return %case : tensor<16x2xf32>
  }
  func.func private @select_59967b(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
    %convert = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %convert, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %select = stablehlo.select %arg0, %broadcast_in_dim, %arg2 : tensor<i1>, tensor<2xf32>
    return %select : tensor<2xf32>
  }
  func.func private @select_4a48ba(%arg0: tensor<i1>, %arg1: tensor<2xf32>, %arg2: tensor<f32>) -> tensor<2xf32> {
    %convert = stablehlo.convert %arg2 : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %convert, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %select = stablehlo.select %arg0, %arg1, %broadcast_in_dim : tensor<i1>, tensor<2xf32>
    return %select : tensor<2xf32>
  }
  func.func private @select_92ada9(%arg0: tensor<2xi1>, %arg1: tensor<f32>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
    %convert = stablehlo.convert %arg1 : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %convert, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %select = stablehlo.select %arg0, %broadcast_in_dim, %arg2 : tensor<2xi1>, tensor<2xf32>
    return %select : tensor<2xf32>
  }
  func.func private @select_4609ec(%arg0: tensor<i1>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
    %select = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<2xf32>
    return %select : tensor<2xf32>
  }
  func.func private @select_4724be(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<f32>) -> tensor<f32> {
    %convert = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %select = stablehlo.select %arg0, %convert, %arg2 : tensor<i1>, tensor<f32>
    return %select : tensor<f32>
  }
  func.func private @minimum_e1e6d6(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %convert_3832 = stablehlo.convert %arg2 : tensor<f32>
    %maximum = stablehlo.maximum %convert_3832, %arg0 : tensor<f32>
    %convert_9996 = stablehlo.convert %arg1 : tensor<f32>
    %minimum = stablehlo.minimum %convert_9996, %maximum : tensor<f32>
    return %minimum : tensor<f32>
  }
  func.func private @compare_0bb748(%arg0: tensor<f32>) -> tensor<i1> {
    %abs = stablehlo.abs %arg0 : tensor<f32>
    %c_0x7F800000 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %compare = stablehlo.compare EQ, %abs, %c_0x7F800000, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %compare : tensor<i1>
  }
  func.func private @select_723609(%arg0: tensor<i1>, %arg1: tensor<i1>, %arg2: tensor<i1>) -> tensor<i1> {
    %select = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i1>
    return %select : tensor<i1>
  }
}
