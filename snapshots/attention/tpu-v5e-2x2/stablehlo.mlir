module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x64x4x32xbf16>, %arg1: tensor<2x64x4x32xbf16>, %arg2: tensor<2x64x4x32xbf16>) -> (tensor<2x64x4x32xbf16>, tensor<2x64x4x32xbf16>, tensor<2x64x4x32xbf16>) {
    %dot_general_000e = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x64x4x32xbf16>, tensor<2x64x4x32xbf16>) -> tensor<2x4x64x64xbf16>
    %c_5.65625_f3d8 = stablehlo.constant dense<5.656250e+00> : tensor<bf16>
    %broadcast_in_dim_01d9 = stablehlo.broadcast_in_dim %c_5.65625_f3d8, dims = [] : (tensor<bf16>) -> tensor<2x4x64x64xbf16>
    %divide_8f47 = stablehlo.divide %dot_general_000e, %broadcast_in_dim_01d9 : tensor<2x4x64x64xbf16>
    %iota = stablehlo.iota dim = 0 : tensor<64xi32>
    %broadcast_in_dim_edc9 = stablehlo.broadcast_in_dim %iota, dims = [0] : (tensor<64xi32>) -> tensor<64x1xi32>
    %broadcast_in_dim_96b9 = stablehlo.broadcast_in_dim %iota, dims = [1] : (tensor<64xi32>) -> tensor<1x64xi32>
    %broadcast_in_dim_e04b = stablehlo.broadcast_in_dim %broadcast_in_dim_edc9, dims = [0, 1] : (tensor<64x1xi32>) -> tensor<64x64xi32>
    %broadcast_in_dim_b1c0 = stablehlo.broadcast_in_dim %broadcast_in_dim_96b9, dims = [0, 1] : (tensor<1x64xi32>) -> tensor<64x64xi32>
    %compare = stablehlo.compare GE, %broadcast_in_dim_e04b, %broadcast_in_dim_b1c0, SIGNED : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %convert_0a45 = stablehlo.convert %divide_8f47 : (tensor<2x4x64x64xbf16>) -> tensor<2x4x64x64xf32>
    %c_0xFF800000_9d33 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %call_6176:2 = call @select_ef7ea8(%compare, %convert_0a45, %c_0xFF800000_9d33) : (tensor<64x64xi1>, tensor<2x4x64x64xf32>, tensor<f32>) -> (tensor<2x4x64x64xf32>, tensor<2x4x64x64xi1>)
    %c_0xFF800000_d489 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %reduce_maximum = stablehlo.reduce(%call_6176#0 init: %c_0xFF800000_d489) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x64x64xf32>, tensor<f32>) -> tensor<2x4x64xf32>
    %c_0xFF800000_4784 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %broadcast_in_dim_4bcf = stablehlo.broadcast_in_dim %c_0xFF800000_4784, dims = [] : (tensor<f32>) -> tensor<2x4x64xf32>
    %maximum = stablehlo.maximum %broadcast_in_dim_4bcf, %reduce_maximum : tensor<2x4x64xf32>
    %broadcast_in_dim_6038 = stablehlo.broadcast_in_dim %maximum, dims = [0, 1, 2] : (tensor<2x4x64xf32>) -> tensor<2x4x64x1xf32>
    %broadcast_in_dim_0810 = stablehlo.broadcast_in_dim %broadcast_in_dim_6038, dims = [0, 1, 2, 3] : (tensor<2x4x64x1xf32>) -> tensor<2x4x64x64xf32>
    %subtract = stablehlo.subtract %call_6176#0, %broadcast_in_dim_0810 : tensor<2x4x64x64xf32>
    %exponential = stablehlo.exponential %subtract : tensor<2x4x64x64xf32>
    %c_0_9c88 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_691f = stablehlo.reduce(%exponential init: %c_0_9c88) applies stablehlo.add across dimensions = [3] : (tensor<2x4x64x64xf32>, tensor<f32>) -> tensor<2x4x64xf32>
    %broadcast_in_dim_5cb7 = stablehlo.broadcast_in_dim %reduce_add_691f, dims = [0, 1, 2] : (tensor<2x4x64xf32>) -> tensor<2x4x64x1xf32>
    %broadcast_in_dim_6d85 = stablehlo.broadcast_in_dim %broadcast_in_dim_5cb7, dims = [0, 1, 2, 3] : (tensor<2x4x64x1xf32>) -> tensor<2x4x64x64xf32>
    %divide_a498 = stablehlo.divide %exponential, %broadcast_in_dim_6d85 : tensor<2x4x64x64xf32>
    %multiply_17f7 = stablehlo.multiply %broadcast_in_dim_5cb7, %broadcast_in_dim_5cb7 : tensor<2x4x64x1xf32>
    %c_1_1c39 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_ff66 = stablehlo.broadcast_in_dim %c_1_1c39, dims = [] : (tensor<f32>) -> tensor<2x4x64x1xf32>
    %divide_efbc = stablehlo.divide %broadcast_in_dim_ff66, %multiply_17f7 : tensor<2x4x64x1xf32>
    %convert_919d = stablehlo.convert %divide_a498 : (tensor<2x4x64x64xf32>) -> tensor<2x4x64x64xbf16>
    %c_1_0eab = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_00cf = stablehlo.broadcast_in_dim %c_1_0eab, dims = [] : (tensor<f32>) -> tensor<2x64x4x32xf32>
    %convert_269e = stablehlo.convert %broadcast_in_dim_00cf : (tensor<2x64x4x32xf32>) -> tensor<2x64x4x32xbf16>
    %transpose_4dda = stablehlo.transpose %convert_269e, dims = [0, 2, 3, 1] : (tensor<2x64x4x32xbf16>) -> tensor<2x4x32x64xbf16>
    %dot_general_21d0 = stablehlo.dot_general %transpose_4dda, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x32x64xbf16>, tensor<2x64x4x32xbf16>) -> tensor<2x4x64x64xbf16>
    %dot_general_2f12 = stablehlo.dot_general %transpose_4dda, %convert_919d, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x4x32x64xbf16>, tensor<2x4x64x64xbf16>) -> tensor<2x4x32x64xbf16>
    %transpose_af6f = stablehlo.transpose %dot_general_2f12, dims = [0, 3, 1, 2] : (tensor<2x4x32x64xbf16>) -> tensor<2x64x4x32xbf16>
    %convert_5fd4 = stablehlo.convert %dot_general_21d0 : (tensor<2x4x64x64xbf16>) -> tensor<2x4x64x64xf32>
    %broadcast_in_dim_7c65 = stablehlo.broadcast_in_dim %divide_efbc, dims = [0, 1, 2, 3] : (tensor<2x4x64x1xf32>) -> tensor<2x4x64x64xf32>
    %multiply_a4c1 = stablehlo.multiply %convert_5fd4, %broadcast_in_dim_7c65 : tensor<2x4x64x64xf32>
    %multiply_5ca5 = stablehlo.multiply %multiply_a4c1, %exponential : tensor<2x4x64x64xf32>
    %c_0_0eed = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_e060 = stablehlo.reduce(%multiply_5ca5 init: %c_0_0eed) applies stablehlo.add across dimensions = [3] : (tensor<2x4x64x64xf32>, tensor<f32>) -> tensor<2x4x64xf32>
    %reshape = stablehlo.reshape %reduce_add_e060 : (tensor<2x4x64xf32>) -> tensor<2x4x64x1xf32>
    %negate = stablehlo.negate %reshape : tensor<2x4x64x1xf32>
    %broadcast_in_dim_4995 = stablehlo.broadcast_in_dim %broadcast_in_dim_5cb7, dims = [0, 1, 2, 3] : (tensor<2x4x64x1xf32>) -> tensor<2x4x64x64xf32>
    %divide_b0f3 = stablehlo.divide %convert_5fd4, %broadcast_in_dim_4995 : tensor<2x4x64x64xf32>
    %c_0_1187 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_6fc9 = stablehlo.reduce(%negate init: %c_0_1187) applies stablehlo.add across dimensions = [3] : (tensor<2x4x64x1xf32>, tensor<f32>) -> tensor<2x4x64xf32>
    %broadcast_in_dim_9449 = stablehlo.broadcast_in_dim %reduce_add_6fc9, dims = [0, 1, 2] : (tensor<2x4x64xf32>) -> tensor<2x4x64x64xf32>
    %add = stablehlo.add %divide_b0f3, %broadcast_in_dim_9449 : tensor<2x4x64x64xf32>
    %multiply_e0ed = stablehlo.multiply %add, %exponential : tensor<2x4x64x64xf32>
    %call_86e4 = call @select_2183e0(%call_6176#1, %multiply_e0ed) : (tensor<2x4x64x64xi1>, tensor<2x4x64x64xf32>) -> tensor<2x4x64x64xf32>
    %convert_f4df = stablehlo.convert %call_86e4 : (tensor<2x4x64x64xf32>) -> tensor<2x4x64x64xbf16>
    %c_5.65625_e555 = stablehlo.constant dense<5.656250e+00> : tensor<bf16>
    %broadcast_in_dim_e452 = stablehlo.broadcast_in_dim %c_5.65625_e555, dims = [] : (tensor<bf16>) -> tensor<2x4x64x64xbf16>
    %divide_e714 = stablehlo.divide %convert_f4df, %broadcast_in_dim_e452 : tensor<2x4x64x64xbf16>
    %dot_general_dbab = stablehlo.dot_general %divide_e714, %arg0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x64x64xbf16>, tensor<2x64x4x32xbf16>) -> tensor<2x4x64x32xbf16>
    %transpose_a222 = stablehlo.transpose %dot_general_dbab, dims = [0, 2, 1, 3] : (tensor<2x4x64x32xbf16>) -> tensor<2x64x4x32xbf16>
    %dot_general_9329 = stablehlo.dot_general %divide_e714, %arg1, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x64x64xbf16>, tensor<2x64x4x32xbf16>) -> tensor<2x4x64x32xbf16>
    %transpose_e5b0 = stablehlo.transpose %dot_general_9329, dims = [0, 2, 1, 3] : (tensor<2x4x64x32xbf16>) -> tensor<2x64x4x32xbf16>
    return %transpose_e5b0, %transpose_a222, %transpose_af6f : tensor<2x64x4x32xbf16>, tensor<2x64x4x32xbf16>, tensor<2x64x4x32xbf16>
  }
  func.func private @select_ef7ea8(%arg0: tensor<64x64xi1>, %arg1: tensor<2x4x64x64xf32>, %arg2: tensor<f32>) -> (tensor<2x4x64x64xf32>, tensor<2x4x64x64xi1>) {
    %convert = stablehlo.convert %arg2 : tensor<f32>
    %broadcast_in_dim_5219 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<64x64xi1>) -> tensor<2x4x64x64xi1>
    %broadcast_in_dim_6c9f = stablehlo.broadcast_in_dim %convert, dims = [] : (tensor<f32>) -> tensor<2x4x64x64xf32>
    %select = stablehlo.select %broadcast_in_dim_5219, %arg1, %broadcast_in_dim_6c9f : tensor<2x4x64x64xi1>, tensor<2x4x64x64xf32>
    return %select, %broadcast_in_dim_5219 : tensor<2x4x64x64xf32>, tensor<2x4x64x64xi1>
  }
  func.func private @select_2183e0(%arg0: tensor<2x4x64x64xi1>, %arg1: tensor<2x4x64x64xf32>) -> tensor<2x4x64x64xf32> {
    %c_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<f32>) -> tensor<2x4x64x64xf32>
    %select = stablehlo.select %arg0, %arg1, %broadcast_in_dim : tensor<2x4x64x64xi1>, tensor<2x4x64x64xf32>
    return %select : tensor<2x4x64x64xf32>
  }
}
