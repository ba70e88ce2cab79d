module @program attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh_data2_model2 = <["data"=2, "model"=2]>
  func.func public @main(%arg0: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@mesh_data2_model2, [{"model"}, {}]>}, %arg1: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh_data2_model2, [{}, {"model"}]>}, %arg2: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh_data2_model2, [{"data"}, {}]>}, %arg3: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh_data2_model2, [{"data"}, {}]>}) -> (tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@mesh_data2_model2, [{"model"}, {}]>}, tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh_data2_model2, [{}, {"model"}]>}) {
    %dot_general_d689 = stablehlo.dot_general %arg2, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x256xf32>) -> tensor<32x256xf32>
    %multiply_cc54 = stablehlo.multiply %dot_general_d689, %dot_general_d689 : tensor<32x256xf32>
    %multiply_dd7e = stablehlo.multiply %multiply_cc54, %dot_general_d689 : tensor<32x256xf32>
    %multiply_c2da = stablehlo.multiply %dot_general_d689, %dot_general_d689 : tensor<32x256xf32>
    %c_3 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %broadcast_in_dim_3119 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
    %multiply_908a = stablehlo.multiply %broadcast_in_dim_3119, %multiply_c2da : tensor<32x256xf32>
    %c_0.044715_86b8 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_60d8 = stablehlo.broadcast_in_dim %c_0.044715_86b8, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
    %multiply_4060 = stablehlo.multiply %broadcast_in_dim_60d8, %multiply_dd7e : tensor<32x256xf32>
    %add_cc82 = stablehlo.add %dot_general_d689, %multiply_4060 : tensor<32x256xf32>
    %c_0.797885_40a7 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_236d = stablehlo.broadcast_in_dim %c_0.797885_40a7, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
    %multiply_cb8d = stablehlo.multiply %broadcast_in_dim_236d, %add_cc82 : tensor<32x256xf32>
    %tanh = stablehlo.tanh %multiply_cb8d : tensor<32x256xf32>
    %c_1_bfed = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_61d2 = stablehlo.broadcast_in_dim %c_1_bfed, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
    %subtract_92aa = stablehlo.subtract %broadcast_in_dim_61d2, %tanh : tensor<32x256xf32>
    %c_1_5e32 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_329b = stablehlo.broadcast_in_dim %c_1_5e32, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
    %add_72a8 = stablehlo.add %broadcast_in_dim_329b, %tanh : tensor<32x256xf32>
    %c_0.5_9e3a = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_5fd4 = stablehlo.broadcast_in_dim %c_0.5_9e3a, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
    %multiply_b2a1 = stablehlo.multiply %broadcast_in_dim_5fd4, %add_72a8 : tensor<32x256xf32>
    %multiply_65ea = stablehlo.multiply %dot_general_d689, %multiply_b2a1 : tensor<32x256xf32>
    %sharding_constraint_f7da = sdy.sharding_constraint %multiply_65ea <@mesh_data2_model2, [{"data"}, {"model"}]> : tensor<32x256xf32>
    %dot_general_a632 = stablehlo.dot_general %sharding_constraint_f7da, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x64xf32>) -> tensor<32x64xf32>
    %subtract_a50e = stablehlo.subtract %dot_general_a632, %arg3 : tensor<32x64xf32>
    %c_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %broadcast_in_dim_6e18 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_bf06 = stablehlo.multiply %broadcast_in_dim_6e18, %subtract_a50e : tensor<32x64xf32>
    %c_1_fdf5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_2048 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %divide = stablehlo.divide %c_1_fdf5, %c_2048 : tensor<f32>
    %broadcast_in_dim_1c49 = stablehlo.broadcast_in_dim %divide, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %multiply_072f = stablehlo.multiply %broadcast_in_dim_1c49, %multiply_bf06 : tensor<32x64xf32>
    %dot_general_e011 = stablehlo.dot_general %multiply_072f, %sharding_constraint_f7da, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x256xf32>) -> tensor<64x256xf32>
    %transpose_e5b0 = stablehlo.transpose %dot_general_e011, dims = [1, 0] : (tensor<64x256xf32>) -> tensor<256x64xf32>
    %dot_general_b9b8 = stablehlo.dot_general %multiply_072f, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<256x64xf32>) -> tensor<32x256xf32>
    %sharding_constraint_a1c5 = sdy.sharding_constraint %dot_general_b9b8 <@mesh_data2_model2, [{"data"}, {"model"}]> : tensor<32x256xf32>
    %multiply_6c2c = stablehlo.multiply %dot_general_d689, %sharding_constraint_a1c5 : tensor<32x256xf32>
    %multiply_2411 = stablehlo.multiply %sharding_constraint_a1c5, %multiply_b2a1 : tensor<32x256xf32>
    %c_0.5_0a4d = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %broadcast_in_dim_f175 = stablehlo.broadcast_in_dim %c_0.5_0a4d, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
    %multiply_c426 = stablehlo.multiply %broadcast_in_dim_f175, %multiply_6c2c : tensor<32x256xf32>
    %multiply_5241 = stablehlo.multiply %multiply_c426, %subtract_92aa : tensor<32x256xf32>
    %multiply_607c = stablehlo.multiply %multiply_5241, %tanh : tensor<32x256xf32>
    %add_f264 = stablehlo.add %multiply_5241, %multiply_607c : tensor<32x256xf32>
    %c_0.797885_157f = stablehlo.constant dense<0.797884583> : tensor<f32>
    %broadcast_in_dim_e66f = stablehlo.broadcast_in_dim %c_0.797885_157f, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
    %multiply_7547 = stablehlo.multiply %broadcast_in_dim_e66f, %add_f264 : tensor<32x256xf32>
    %add_4115 = stablehlo.add %multiply_2411, %multiply_7547 : tensor<32x256xf32>
    %c_0.044715_8959 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %broadcast_in_dim_6d80 = stablehlo.broadcast_in_dim %c_0.044715_8959, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
    %multiply_6943 = stablehlo.multiply %broadcast_in_dim_6d80, %multiply_7547 : tensor<32x256xf32>
    %multiply_a3e8 = stablehlo.multiply %multiply_6943, %multiply_908a : tensor<32x256xf32>
    %add_4690 = stablehlo.add %add_4115, %multiply_a3e8 : tensor<32x256xf32>
    %dot_general_86af = stablehlo.dot_general %add_4690, %arg2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<32x64xf32>) -> tensor<256x64xf32>
    %transpose_a222 = stablehlo.transpose %dot_general_86af, dims = [1, 0] : (tensor<256x64xf32>) -> tensor<64x256xf32>
    return %transpose_e5b0, %transpose_a222 : tensor<256x64xf32>, tensor<64x256xf32>
  }
}
