module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x64xf32>, %arg1: tensor<6x64x64xf32>, %arg2: tensor<16x64xf32>) -> tensor<16x64xf32> {
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %while:4 = stablehlo.while(%carry_2d74 = %arg0, %carry_0de8 = %arg1, %carry_3aac = %c_0, %carry_200a = %arg2) : tensor<6x64xf32>, tensor<6x64x64xf32>, tensor<i32>, tensor<16x64xf32>
    cond {
      %c_6 = stablehlo.constant dense<6> : tensor<i32>
      %compare = stablehlo.compare LT, %carry_3aac, %c_6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %compare : tensor<i1>
    } do {
      %call_05e8 = func.call @reshape_667400(%carry_2d74, %carry_3aac) : (tensor<6x64xf32>, tensor<i32>) -> tensor<64xf32>
      %call_c48d = func.call @reshape_88cd30(%carry_0de8, %carry_3aac) : (tensor<6x64x64xf32>, tensor<i32>) -> tensor<64x64xf32>
      %call_bcef = func.call @add_829f70(%carry_200a, %call_05e8, %call_c48d) : (tensor<16x64xf32>, tensor<64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %add = stablehlo.add %carry_3aac, %c_1 : tensor<i32>
      stablehlo.return %carry_2d74, %carry_0de8, %add, %call_bcef : tensor<6x64xf32>, tensor<6x64x64xf32>, tensor<i32>, tensor<16x64xf32>
    }
    return %while#3 : tensor<16x64xf32>
  }
  func.func private @reshape_667400(%arg0: tensor<6x64xf32>, %arg1: tensor<i32>) -> tensor<64xf32> {
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %dynamic_slice = stablehlo.dynamic_slice %arg0, %arg1, %c_0, sizes = [1, 64] : (tensor<6x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
    %reshape = stablehlo.reshape %dynamic_slice : (tensor<1x64xf32>) -> tensor<64xf32>
    return %reshape : tensor<64xf32>
  }
  func.func private @reshape_88cd30(%arg0: tensor<6x64x64xf32>, %arg1: tensor<i32>) -> tensor<64x64xf32> {
    %c_0_1075 = stablehlo.constant dense<0> : tensor<i32>
    %c_0_e207 = stablehlo.constant dense<0> : tensor<i32>
    %dynamic_slice = stablehlo.dynamic_slice %arg0, %arg1, %c_0_1075, %c_0_e207, sizes = [1, 64, 64] : (tensor<6x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xf32>
    %reshape = stablehlo.reshape %dynamic_slice : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    return %reshape : tensor<64x64xf32>
  }
  func.func private @add_829f70(%arg0: tensor<16x64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<64x64xf32>) -> tensor<16x64xf32> {
    %multiply_430e = stablehlo.multiply %arg0, %arg0 : tensor<16x64xf32>
    %c_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add = stablehlo.reduce(%multiply_430e init: %c_0) applies stablehlo.add across dimensions = [1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %broadcast_in_dim_b942 = stablehlo.broadcast_in_dim %reduce_add, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %c_64 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %broadcast_in_dim_d4f5 = stablehlo.broadcast_in_dim %c_64, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %divide = stablehlo.divide %broadcast_in_dim_b942, %broadcast_in_dim_d4f5 : tensor<16x1xf32>
    %c_1e-06 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %broadcast_in_dim_4790 = stablehlo.broadcast_in_dim %c_1e-06, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %add_d713 = stablehlo.add %divide, %broadcast_in_dim_4790 : tensor<16x1xf32>
    %rsqrt = stablehlo.rsqrt %add_d713 : tensor<16x1xf32>
    %broadcast_in_dim_d1c4 = stablehlo.broadcast_in_dim %rsqrt, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %multiply_76bf = stablehlo.multiply %arg0, %broadcast_in_dim_d1c4 : tensor<16x64xf32>
    %dot_general = stablehlo.dot_general %multiply_76bf, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %broadcast_in_dim_74c2 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %broadcast_in_dim_6455 = stablehlo.broadcast_in_dim %broadcast_in_dim_74c2, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<16x64xf32>
    %add_c56f = stablehlo.add %dot_general, %broadcast_in_dim_6455 : tensor<16x64xf32>
    %multiply_69d4 = stablehlo.multiply %add_c56f, %add_c56f : tensor<16x64xf32>
    %multiply_a269 = stablehlo.multiply %multiply_69d4, %add_c56f : tensor<16x64xf32>
    %c_0.044715 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_907d = stablehlo.broadcast_in_dim %c_0.044715, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_4060 = stablehlo.multiply %broadcast_in_dim_907d, %multiply_a269 : tensor<16x64xf32>
    %add_b1b0 = stablehlo.add %add_c56f, %multiply_4060 : tensor<16x64xf32>
    %c_0.797885 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_6127 = stablehlo.broadcast_in_dim %c_0.797885, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_cb8d = stablehlo.multiply %broadcast_in_dim_6127, %add_b1b0 : tensor<16x64xf32>
    %tanh = stablehlo.tanh %multiply_cb8d : tensor<16x64xf32>
    %c_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_329b = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %add_72a8 = stablehlo.add %broadcast_in_dim_329b, %tanh : tensor<16x64xf32>
    %c_0.5 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_3b39 = stablehlo.broadcast_in_dim %c_0.5, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %multiply_1a7a = stablehlo.multiply %broadcast_in_dim_3b39, %add_72a8 : tensor<16x64xf32>
    %multiply_5c88 = stablehlo.multiply %add_c56f, %multiply_1a7a : tensor<16x64xf32>
    %add_42af = stablehlo.add %arg0, %multiply_5c88 : tensor<16x64xf32>
    return %add_42af : tensor<16x64xf32>
  }
}
