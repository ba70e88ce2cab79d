module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x128xf32>, %arg1: tensor<128x128xf32>, %arg2: tensor<32x128xf32>, %arg3: tensor<32x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
    %dot_general_c9cb = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x128xf32>, tensor<128x128xf32>) -> tensor<32x128xf32>
    %tanh = stablehlo.tanh %dot_general_c9cb : tensor<32x128xf32>
    %c_1_d7e6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_61d2 = stablehlo.broadcast_in_dim %c_1_d7e6, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %subtract_92aa = stablehlo.subtract %broadcast_in_dim_61d2, %tanh : tensor<32x128xf32>
    %subtract_2813 = stablehlo.subtract %tanh, %arg3 : tensor<32x128xf32>
    %c_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %broadcast_in_dim_6e18 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %multiply_bf06 = stablehlo.multiply %broadcast_in_dim_6e18, %subtract_2813 : tensor<32x128xf32>
    %c_1_fdf5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_4096 = stablehlo.constant dense<4.096000e+03> : tensor<f32>
    %divide = stablehlo.divide %c_1_fdf5, %c_4096 : tensor<f32>
    %broadcast_in_dim_1c49 = stablehlo.broadcast_in_dim %divide, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %multiply_78ca = stablehlo.multiply %broadcast_in_dim_1c49, %multiply_bf06 : tensor<32x128xf32>
    %multiply_5241 = stablehlo.multiply %multiply_78ca, %subtract_92aa : tensor<32x128xf32>
    %multiply_607c = stablehlo.multiply %multiply_5241, %tanh : tensor<32x128xf32>
    %add = stablehlo.add %multiply_5241, %multiply_607c : tensor<32x128xf32>
    %dot_general_86af = stablehlo.dot_general %add, %arg2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<128x128xf32>
    %transpose = stablehlo.transpose %dot_general_86af, dims = [1, 0] : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %call:2 = call @subtract_95040a(%arg0, %arg1, %transpose) {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>)
    return %call#0, %call#1 : tensor<128x128xf32>, tensor<128x128xf32>
  }
  func.func private @subtract_95040a(%arg0: tensor<128x128xf32>, %arg1: tensor<128x128xf32>, %arg2: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
    %c_0.9 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_1fb3 = stablehlo.broadcast_in_dim %c_0.9, dims = [] {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_ffbc = stablehlo.multiply %broadcast_in_dim_1fb3, %arg1 {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : tensor<128x128xf32>
    %add = stablehlo.add %multiply_ffbc, %arg2 {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : tensor<128x128xf32>
    %c_0.1 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_a1ac = stablehlo.broadcast_in_dim %c_0.1, dims = [] {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_aa69 = stablehlo.multiply %broadcast_in_dim_a1ac, %add {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : tensor<128x128xf32>
    %subtract = stablehlo.subtract %arg0, %multiply_aa69 {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : tensor<128x128xf32>
    return %subtract, %add : tensor<128x128xf32>, tensor<128x128xf32>
  }
}
