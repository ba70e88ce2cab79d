module @jit_lstm attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
  func.func public @main(%arg0: tensor<16x128xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>}, %arg1: tensor<32x128xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>}, %arg2: tensor<128xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>}, %arg3: tensor<12x8x16xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}, {}]>}, %arg4: tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>}, %arg5: tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>}) -> (tensor<8x32xf32> {jax.result_info = "result[0][0]"}, tensor<8x32xf32> {jax.result_info = "result[0][1]"}, tensor<12x8x32xf32> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %_0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %_1:8 = stablehlo.while(%iterArg = %arg3, %iterArg_0 = %arg0, %iterArg_1 = %arg1, %iterArg_2 = %arg2, %iterArg_3 = %c, %iterArg_4 = %arg4, %iterArg_5 = %arg5, %iterArg_6 = %_0) : tensor<12x8x16xf32>, tensor<16x128xf32>, tensor<32x128xf32>, tensor<128xf32>, tensor<i32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<12x8x32xf32>
    cond {
      %c_7 = stablehlo.constant dense<12> : tensor<i32>
      %_2 = stablehlo.compare LT, %iterArg_3, %c_7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %_2 : tensor<i1>
    } do {
      %_2 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_3) : (tensor<12x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %_3:3 = func.call @closed_call(%iterArg_0, %iterArg_1, %iterArg_2, %iterArg_4, %iterArg_5, %_2) : (tensor<16x128xf32>, tensor<32x128xf32>, tensor<128xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x16xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>)
      %_4 = func.call @dynamic_update_index_in_dim(%iterArg_6, %_3#2, %iterArg_3) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %c_7 = stablehlo.constant dense<1> : tensor<i32>
      %_5 = stablehlo.add %iterArg_3, %c_7 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_0, %iterArg_1, %iterArg_2, %_5, %_3#0, %_3#1, %_4 : tensor<12x8x16xf32>, tensor<16x128xf32>, tensor<32x128xf32>, tensor<128xf32>, tensor<i32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<12x8x32xf32>
    }
    return %_1#5, %_1#6, %_1#7 : tensor<8x32xf32>, tensor<8x32xf32>, tensor<12x8x32xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<12x8x16xf32>, %arg1: tensor<i32>) -> tensor<8x16xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %_0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 8, 16] : (tensor<12x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
    %_1 = stablehlo.reshape %_0 : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
    return %_1 : tensor<8x16xf32>
  }
  func.func private @closed_call(%arg0: tensor<16x128xf32>, %arg1: tensor<32x128xf32>, %arg2: tensor<128xf32>, %arg3: tensor<8x32xf32>, %arg4: tensor<8x32xf32>, %arg5: tensor<8x16xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
    %_0 = stablehlo.dot_general %arg5, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x128xf32>) -> tensor<8x128xf32>
    %_1 = stablehlo.dot_general %arg3, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x32xf32>, tensor<32x128xf32>) -> tensor<8x128xf32>
    %_2 = stablehlo.add %_0, %_1 : tensor<8x128xf32>
    %_3 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<128xf32>) -> tensor<1x128xf32>
    %_4 = stablehlo.broadcast_in_dim %_3, dims = [0, 1] : (tensor<1x128xf32>) -> tensor<8x128xf32>
    %_5 = stablehlo.add %_2, %_4 : tensor<8x128xf32>
    %_6 = stablehlo.slice %_5 [0:8, 0:32] : (tensor<8x128xf32>) -> tensor<8x32xf32>
    %_7 = stablehlo.slice %_5 [0:8, 32:64] : (tensor<8x128xf32>) -> tensor<8x32xf32>
    %_8 = stablehlo.slice %_5 [0:8, 64:96] : (tensor<8x128xf32>) -> tensor<8x32xf32>
    %_9 = stablehlo.slice %_5 [0:8, 96:128] : (tensor<8x128xf32>) -> tensor<8x32xf32>
    %_10 = stablehlo.negate %_7 : tensor<8x32xf32>
    %_11 = stablehlo.exponential %_10 : tensor<8x32xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %_13 = stablehlo.add %_12, %_11 : tensor<8x32xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_14 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %_15 = stablehlo.divide %_14, %_13 : tensor<8x32xf32>
    %_16 = stablehlo.multiply %_15, %arg4 : tensor<8x32xf32>
    %_17 = stablehlo.negate %_6 : tensor<8x32xf32>
    %_18 = stablehlo.exponential %_17 : tensor<8x32xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_19 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %_20 = stablehlo.add %_19, %_18 : tensor<8x32xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %_22 = stablehlo.divide %_21, %_20 : tensor<8x32xf32>
    %_23 = stablehlo.tanh %_8 : tensor<8x32xf32>
    %_24 = stablehlo.multiply %_22, %_23 : tensor<8x32xf32>
    %_25 = stablehlo.add %_16, %_24 : tensor<8x32xf32>
    %_26 = stablehlo.negate %_9 : tensor<8x32xf32>
    %_27 = stablehlo.exponential %_26 : tensor<8x32xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_28 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %_29 = stablehlo.add %_28, %_27 : tensor<8x32xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %_30 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %_31 = stablehlo.divide %_30, %_29 : tensor<8x32xf32>
    %_32 = stablehlo.tanh %_25 : tensor<8x32xf32>
    %_33 = stablehlo.multiply %_31, %_32 : tensor<8x32xf32>
    return %_33, %_25, %_33 : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<12x8x32xf32>, %arg1: tensor<8x32xf32>, %arg2: tensor<i32>) -> tensor<12x8x32xf32> {
    %_0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<8x32xf32>) -> tensor<1x8x32xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %_1 = stablehlo.dynamic_update_slice %arg0, %_0, %arg2, %c, %c_0 : (tensor<12x8x32xf32>, tensor<1x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<12x8x32xf32>
    return %_1 : tensor<12x8x32xf32>
  }
}
