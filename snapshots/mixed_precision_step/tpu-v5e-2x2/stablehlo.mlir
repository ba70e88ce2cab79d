module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x128xf32>, %arg1: tensor<128x16xf32>, %arg2: tensor<32x64xf32>, %arg3: tensor<32xi32>) -> (tensor<64x128xf32>, tensor<128x16xf32>, tensor<f32>) {
    %convert_dd72 = stablehlo.convert %arg2 : (tensor<32x64xf32>) -> tensor<32x64xbf16>
    %convert_e407 = stablehlo.convert %arg0 : (tensor<64x128xf32>) -> tensor<64x128xbf16>
    %dot_general_b48a = stablehlo.dot_general %convert_dd72, %convert_e407, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16>
    %call_7882 = call @maximum_4fb57a(%dot_general_b48a) : (tensor<32x128xbf16>) -> tensor<32x128xbf16>
    %c_0_6f5f = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %broadcast_in_dim_7075 = stablehlo.broadcast_in_dim %c_0_6f5f, dims = [] : (tensor<bf16>) -> tensor<32x128xbf16>
    %compare = stablehlo.compare GT, %dot_general_b48a, %broadcast_in_dim_7075, FLOAT : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<32x128xi1>
    %convert_452c = stablehlo.convert %arg1 : (tensor<128x16xf32>) -> tensor<128x16xbf16>
    %dot_general_a759 = stablehlo.dot_general %call_7882, %convert_452c, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x128xbf16>, tensor<128x16xbf16>) -> tensor<32x16xbf16>
    %convert_88df = stablehlo.convert %dot_general_a759 : (tensor<32x16xbf16>) -> tensor<32x16xf32>
    %call_fd90:3 = call @subtract_6b62db(%convert_88df) : (tensor<32x16xf32>) -> (tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x1xf32>)
    %broadcast_in_dim_916b = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
    %call_a56b:2 = call @select_1fb9b3(%call_fd90#0, %broadcast_in_dim_916b) : (tensor<32x16xf32>, tensor<32x1xi32>) -> (tensor<32x1xf32>, tensor<32x1x1xi32>)
    %c_0_c2a9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add = stablehlo.reduce(%call_a56b#0 init: %c_0_c2a9) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x1xf32>, tensor<f32>) -> tensor<f32>
    %c_32_c239 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %divide_b91e = stablehlo.divide %reduce_add, %c_32_c239 : tensor<f32>
    %negate_55a5 = stablehlo.negate %divide_b91e : tensor<f32>
    %c_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %negate_ea87 = stablehlo.negate %c_1 : tensor<f32>
    %c_32_7789 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %divide_8cbf = stablehlo.divide %negate_ea87, %c_32_7789 : tensor<f32>
    %broadcast_in_dim_3728 = stablehlo.broadcast_in_dim %divide_8cbf, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %call_637e = call @scatter_6abe48(%call_a56b#1, %broadcast_in_dim_3728) : (tensor<32x1x1xi32>, tensor<32x1xf32>) -> tensor<32x16xf32>
    %call_0cc7 = call @add_f56766(%call_fd90#1, %call_fd90#2, %call_637e) : (tensor<32x16xf32>, tensor<32x1xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    %convert_558e = stablehlo.convert %call_0cc7 : (tensor<32x16xf32>) -> tensor<32x16xbf16>
    %dot_general_2318 = stablehlo.dot_general %convert_558e, %call_7882, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xbf16>, tensor<32x128xbf16>) -> tensor<16x128xbf16>
    %transpose_cceb = stablehlo.transpose %dot_general_2318, dims = [1, 0] : (tensor<16x128xbf16>) -> tensor<128x16xbf16>
    %dot_general_36a0 = stablehlo.dot_general %convert_558e, %convert_452c, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x16xbf16>, tensor<128x16xbf16>) -> tensor<32x128xbf16>
    %convert_e97a = stablehlo.convert %transpose_cceb : (tensor<128x16xbf16>) -> tensor<128x16xf32>
    %c_0_78a8 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %broadcast_in_dim_52a4 = stablehlo.broadcast_in_dim %c_0_78a8, dims = [] : (tensor<bf16>) -> tensor<32x128xbf16>
    %select = stablehlo.select %compare, %dot_general_36a0, %broadcast_in_dim_52a4 : tensor<32x128xi1>, tensor<32x128xbf16>
    %dot_general_67c2 = stablehlo.dot_general %select, %convert_dd72, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x128xbf16>, tensor<32x64xbf16>) -> tensor<128x64xbf16>
    %transpose_8a1b = stablehlo.transpose %dot_general_67c2, dims = [1, 0] : (tensor<128x64xbf16>) -> tensor<64x128xbf16>
    %convert_015c = stablehlo.convert %transpose_8a1b : (tensor<64x128xbf16>) -> tensor<64x128xf32>
    %c_0.1_77b3 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_98d7 = stablehlo.broadcast_in_dim %c_0.1_77b3, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %multiply_900c = stablehlo.multiply %broadcast_in_dim_98d7, %convert_015c : tensor<64x128xf32>
    %subtract_2ff3 = stablehlo.subtract %arg0, %multiply_900c : tensor<64x128xf32>
    %c_0.1_b5f1 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_e52b = stablehlo.broadcast_in_dim %c_0.1_b5f1, dims = [] : (tensor<f32>) -> tensor<128x16xf32>
    %multiply_6e26 = stablehlo.multiply %broadcast_in_dim_e52b, %convert_e97a : tensor<128x16xf32>
    %subtract_7914 = stablehlo.subtract %arg1, %multiply_6e26 : tensor<128x16xf32>
    return %subtract_2ff3, %subtract_7914, %negate_55a5 : tensor<64x128xf32>, tensor<128x16xf32>, tensor<f32>
  }
  func.func private @maximum_4fb57a(%arg0: tensor<32x128xbf16>) -> tensor<32x128xbf16> {
    %c_0 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<bf16>) -> tensor<32x128xbf16>
    %maximum = stablehlo.maximum %arg0, %broadcast_in_dim : tensor<32x128xbf16>
    return %maximum : tensor<32x128xbf16>
  }
  func.func private @subtract_6b62db(%arg0: tensor<32x16xf32>) -> (tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x1xf32>) {
    %c_0xFF800000_d489 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %reduce_maximum = stablehlo.reduce(%arg0 init: %c_0xFF800000_d489) applies stablehlo.maximum across dimensions = [1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<32xf32>
    %c_0xFF800000_4784 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %broadcast_in_dim_4bcf = stablehlo.broadcast_in_dim %c_0xFF800000_4784, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %maximum = stablehlo.maximum %broadcast_in_dim_4bcf, %reduce_maximum : tensor<32xf32>
    %broadcast_in_dim_6038 = stablehlo.broadcast_in_dim %maximum, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %broadcast_in_dim_0810 = stablehlo.broadcast_in_dim %broadcast_in_dim_6038, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x16xf32>
    %subtract_b29b = stablehlo.subtract %arg0, %broadcast_in_dim_0810 : tensor<32x16xf32>
    %exponential = stablehlo.exponential %subtract_b29b : tensor<32x16xf32>
    %c_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add = stablehlo.reduce(%exponential init: %c_0) applies stablehlo.add across dimensions = [1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<32xf32>
    %broadcast_in_dim_bda7 = stablehlo.broadcast_in_dim %reduce_add, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %log = stablehlo.log %broadcast_in_dim_bda7 : tensor<32x1xf32>
    %broadcast_in_dim_69f5 = stablehlo.broadcast_in_dim %log, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x16xf32>
    %subtract_602c = stablehlo.subtract %subtract_b29b, %broadcast_in_dim_69f5 : tensor<32x16xf32>
    return %subtract_602c, %exponential, %broadcast_in_dim_bda7 : tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x1xf32>
  }
  func.func private @select_1fb9b3(%arg0: tensor<32x16xf32>, %arg1: tensor<32x1xi32>) -> (tensor<32x1xf32>, tensor<32x1x1xi32>) {
    %c_0_447a = stablehlo.constant dense<0> : tensor<i32>
    %broadcast_in_dim_0781 = stablehlo.broadcast_in_dim %c_0_447a, dims = [] : (tensor<i32>) -> tensor<32x1xi32>
    %compare_d76d = stablehlo.compare LT, %arg1, %broadcast_in_dim_0781, SIGNED : (tensor<32x1xi32>, tensor<32x1xi32>) -> tensor<32x1xi1>
    %c_16 = stablehlo.constant dense<16> : tensor<i32>
    %broadcast_in_dim_01e8 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<32x1xi32>
    %add = stablehlo.add %arg1, %broadcast_in_dim_01e8 : tensor<32x1xi32>
    %select_546a = stablehlo.select %compare_d76d, %add, %arg1 : tensor<32x1xi1>, tensor<32x1xi32>
    %reshape = stablehlo.reshape %select_546a : (tensor<32x1xi32>) -> tensor<32x1x1xi32>
    %c_15 = stablehlo.constant dense<15> : tensor<1xi32>
    %c_0_26c1 = stablehlo.constant dense<0> : tensor<i32>
    %broadcast_in_dim_356c = stablehlo.broadcast_in_dim %c_0_26c1, dims = [] : (tensor<i32>) -> tensor<32x1x1xi32>
    %compare_a1fc = stablehlo.compare GE, %reshape, %broadcast_in_dim_356c, SIGNED : (tensor<32x1x1xi32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi1>
    %broadcast_in_dim_6f46 = stablehlo.broadcast_in_dim %c_15, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %broadcast_in_dim_b1c0 = stablehlo.broadcast_in_dim %broadcast_in_dim_6f46, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<32x1x1xi32>
    %compare_a2e3 = stablehlo.compare LE, %reshape, %broadcast_in_dim_b1c0, SIGNED : (tensor<32x1x1xi32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi1>
    %and = stablehlo.and %compare_a1fc, %compare_a2e3 : tensor<32x1x1xi1>
    %c_true = stablehlo.constant dense<true> : tensor<i1>
    %reduce_and = stablehlo.reduce(%and init: %c_true) applies stablehlo.and across dimensions = [2] : (tensor<32x1x1xi1>, tensor<i1>) -> tensor<32x1xi1>
    %gather = "stablehlo.gather"(%arg0, %reshape) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<32x16xf32>, tensor<32x1x1xi32>) -> tensor<32x1xf32>
    %c_0x7FC00000 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_66a6 = stablehlo.broadcast_in_dim %c_0x7FC00000, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %select_8c2e = stablehlo.select %reduce_and, %gather, %broadcast_in_dim_66a6 : tensor<32x1xi1>, tensor<32x1xf32>
    return %select_8c2e, %reshape : tensor<32x1xf32>, tensor<32x1x1xi32>
  }
  func.func private @scatter_6abe48(%arg0: tensor<32x1x1xi32>, %arg1: tensor<32x1xf32>) -> tensor<32x16xf32> {
    %c_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %scatter = "stablehlo.scatter"(%broadcast_in_dim, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
      %in_add = stablehlo.add %a0, %a1 : tensor<f32>
      stablehlo.return %in_add : tensor<f32>
    }) : (tensor<32x16xf32>, tensor<32x1x1xi32>, tensor<32x1xf32>) -> tensor<32x16xf32>
    return %scatter : tensor<32x16xf32>
  }
  func.func private @add_f56766(%arg0: tensor<32x16xf32>, %arg1: tensor<32x1xf32>, %arg2: tensor<32x16xf32>) -> tensor<32x16xf32> {
    %negate = stablehlo.negate %arg2 : tensor<32x16xf32>
    %c_0_ca4b = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_6e75 = stablehlo.reduce(%negate init: %c_0_ca4b) applies stablehlo.add across dimensions = [1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<32xf32>
    %reshape = stablehlo.reshape %reduce_add_6e75 : (tensor<32xf32>) -> tensor<32x1xf32>
    %divide = stablehlo.divide %reshape, %arg1 : tensor<32x1xf32>
    %c_0_d36d = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_83c6 = stablehlo.reduce(%divide init: %c_0_d36d) applies stablehlo.add across dimensions = [1] : (tensor<32x1xf32>, tensor<f32>) -> tensor<32xf32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %reduce_add_83c6, dims = [0] : (tensor<32xf32>) -> tensor<32x16xf32>
    %multiply = stablehlo.multiply %broadcast_in_dim, %arg0 : tensor<32x16xf32>
    %add = stablehlo.add %arg2, %multiply : tensor<32x16xf32>
    return %add : tensor<32x16xf32>
  }
}
