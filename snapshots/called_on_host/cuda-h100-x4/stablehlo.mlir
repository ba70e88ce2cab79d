module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %subtract = stablehlo.subtract %arg1, %arg0 {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : tensor<64x64xf32>
    %c_0.1 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim = stablehlo.broadcast_in_dim %c_0.1, dims = [] {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : (tensor<f32>) -> tensor<64x64xf32>
    %multiply = stablehlo.multiply %broadcast_in_dim, %subtract {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : tensor<64x64xf32>
    %add = stablehlo.add %arg0, %multiply {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : tensor<64x64xf32>
    return %add : tensor<64x64xf32>
  }
}
