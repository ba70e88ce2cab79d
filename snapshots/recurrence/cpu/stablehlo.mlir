module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x16xf32>, %arg1: tensor<32x16xf32>) -> tensor<16xf32> {
    %c_0_06dc = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %c_0_06dc, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0_a880 = stablehlo.constant dense<0> : tensor<i32>
    %while:4 = stablehlo.while(%carry_2d74 = %arg1, %carry_0de8 = %arg0, %carry_264c = %c_0_a880, %carry_5394 = %broadcast_in_dim) : tensor<32x16xf32>, tensor<16x16xf32>, tensor<i32>, tensor<16xf32>
    cond {
      %c_32 = stablehlo.constant dense<32> : tensor<i32>
      %compare = stablehlo.compare LT, %carry_264c, %c_32, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %compare : tensor<i1>
    } do {
      %call_c48d = func.call @reshape_b62b9c(%carry_2d74, %carry_264c) : (tensor<32x16xf32>, tensor<i32>) -> tensor<16xf32>
      %call_3386 = func.call @tanh_ae3627(%carry_0de8, %carry_5394, %call_c48d) : (tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %add = stablehlo.add %carry_264c, %c_1 : tensor<i32>
      stablehlo.return %carry_2d74, %carry_0de8, %add, %call_3386 : tensor<32x16xf32>, tensor<16x16xf32>, tensor<i32>, tensor<16xf32>
    }
    return %while#3 : tensor<16xf32>
  }
  func.func private @reshape_b62b9c(%arg0: tensor<32x16xf32>, %arg1: tensor<i32>) -> tensor<16xf32> {
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %dynamic_slice = stablehlo.dynamic_slice %arg0, %arg1, %c_0, sizes = [1, 16] : (tensor<32x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
    %reshape = stablehlo.reshape %dynamic_slice : (tensor<1x16xf32>) -> tensor<16xf32>
    return %reshape : tensor<16xf32>
  }
  func.func private @tanh_ae3627(%arg0: tensor<16x16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>) -> tensor<16xf32> {
    %dot_general = stablehlo.dot_general %arg1, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16xf32>, tensor<16x16xf32>) -> tensor<16xf32>
    %add = stablehlo.add %dot_general, %arg2 : tensor<16xf32>
    %tanh = stablehlo.tanh %add : tensor<16xf32>
    return %tanh : tensor<16xf32>
  }
}
