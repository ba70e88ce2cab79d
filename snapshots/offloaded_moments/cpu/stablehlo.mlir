module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @empty_mesh = <[]>
  func.func public @main(%arg0: tensor<128xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<128x128xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<i32> {mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@empty_mesh, []>, tf.aliasing_output = 2 : i32}, %arg3: tensor<128xf32> {mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>, tf.aliasing_output = 3 : i32}, %arg4: tensor<128x128xf32> {mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>, tf.aliasing_output = 4 : i32}, %arg5: tensor<128xf32> {mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>, tf.aliasing_output = 5 : i32}, %arg6: tensor<128x128xf32> {mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>, tf.aliasing_output = 6 : i32}, %arg7: tensor<32x128xf32>, %arg8: tensor<32x128xf32>) -> (tensor<128xf32> {mhlo.memory_kind = "device"}, tensor<128x128xf32> {mhlo.memory_kind = "device"}, tensor<i32> {mhlo.memory_kind = "pinned_host"}, tensor<128xf32> {mhlo.memory_kind = "pinned_host"}, tensor<128x128xf32> {mhlo.memory_kind = "pinned_host"}, tensor<128xf32> {mhlo.memory_kind = "pinned_host"}, tensor<128x128xf32> {mhlo.memory_kind = "pinned_host"}) {
    %dot_general_0c29 = stablehlo.dot_general %arg7, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x128xf32>, tensor<128x128xf32>) -> tensor<32x128xf32>
    %broadcast_in_dim_8cde = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<128xf32>) -> tensor<1x128xf32>
    %broadcast_in_dim_6455 = stablehlo.broadcast_in_dim %broadcast_in_dim_8cde, dims = [0, 1] : (tensor<1x128xf32>) -> tensor<32x128xf32>
    %add_8d3d = stablehlo.add %dot_general_0c29, %broadcast_in_dim_6455 : tensor<32x128xf32>
    %tanh = stablehlo.tanh %add_8d3d : tensor<32x128xf32>
    %c_1_d7e6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_61d2 = stablehlo.broadcast_in_dim %c_1_d7e6, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %subtract_92aa = stablehlo.subtract %broadcast_in_dim_61d2, %tanh : tensor<32x128xf32>
    %subtract_8c59 = stablehlo.subtract %tanh, %arg8 : tensor<32x128xf32>
    %c_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %broadcast_in_dim_6e18 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %multiply_bf06 = stablehlo.multiply %broadcast_in_dim_6e18, %subtract_8c59 : tensor<32x128xf32>
    %c_1_fdf5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_4096 = stablehlo.constant dense<4.096000e+03> : tensor<f32>
    %divide_52db = stablehlo.divide %c_1_fdf5, %c_4096 : tensor<f32>
    %broadcast_in_dim_1c49 = stablehlo.broadcast_in_dim %divide_52db, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %multiply_78ca = stablehlo.multiply %broadcast_in_dim_1c49, %multiply_bf06 : tensor<32x128xf32>
    %multiply_5241 = stablehlo.multiply %multiply_78ca, %subtract_92aa : tensor<32x128xf32>
    %multiply_607c = stablehlo.multiply %multiply_5241, %tanh : tensor<32x128xf32>
    %add_d26c = stablehlo.add %multiply_5241, %multiply_607c : tensor<32x128xf32>
    %c_0_162b = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_16e0 = stablehlo.reduce(%add_d26c init: %c_0_162b) applies stablehlo.add across dimensions = [0] : (tensor<32x128xf32>, tensor<f32>) -> tensor<128xf32>
    %reshape = stablehlo.reshape %reduce_add_16e0 : (tensor<128xf32>) -> tensor<1x128xf32>
    %c_0_b306 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_8b4c = stablehlo.reduce(%reshape init: %c_0_b306) applies stablehlo.add across dimensions = [0] : (tensor<1x128xf32>, tensor<f32>) -> tensor<128xf32>
    %dot_general_a107 = stablehlo.dot_general %add_d26c, %arg7, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<128x128xf32>
    %transpose = stablehlo.transpose %dot_general_a107, dims = [1, 0] : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %c_0.1_2279 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_f6c1 = stablehlo.broadcast_in_dim %c_0.1_2279, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_b819 = stablehlo.multiply %broadcast_in_dim_f6c1, %reduce_add_8b4c : tensor<128xf32>
    %c_0.9_d96d = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_98d9 = stablehlo.broadcast_in_dim %c_0.9_d96d, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_acca = stablehlo.multiply %broadcast_in_dim_98d9, %arg3 : tensor<128xf32>
    %add_9507 = stablehlo.add %multiply_b819, %multiply_acca : tensor<128xf32>
    %c_0.1_d9fd = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_91f7 = stablehlo.broadcast_in_dim %c_0.1_d9fd, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_2a04 = stablehlo.multiply %broadcast_in_dim_91f7, %transpose : tensor<128x128xf32>
    %c_0.9_3a00 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_7046 = stablehlo.broadcast_in_dim %c_0.9_3a00, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_6c49 = stablehlo.multiply %broadcast_in_dim_7046, %arg4 : tensor<128x128xf32>
    %add_2d0f = stablehlo.add %multiply_2a04, %multiply_6c49 : tensor<128x128xf32>
    %multiply_9a13 = stablehlo.multiply %reduce_add_8b4c, %reduce_add_8b4c : tensor<128xf32>
    %c_0.001_29b4 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_64a4 = stablehlo.broadcast_in_dim %c_0.001_29b4, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_2f9c = stablehlo.multiply %broadcast_in_dim_64a4, %multiply_9a13 : tensor<128xf32>
    %c_0.999_2d5a = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %broadcast_in_dim_3475 = stablehlo.broadcast_in_dim %c_0.999_2d5a, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_cd01 = stablehlo.multiply %broadcast_in_dim_3475, %arg5 : tensor<128xf32>
    %add_4f10 = stablehlo.add %multiply_2f9c, %multiply_cd01 : tensor<128xf32>
    %multiply_863f = stablehlo.multiply %transpose, %transpose : tensor<128x128xf32>
    %c_0.001_1214 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_cf8f = stablehlo.broadcast_in_dim %c_0.001_1214, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_0cd5 = stablehlo.multiply %broadcast_in_dim_cf8f, %multiply_863f : tensor<128x128xf32>
    %c_0.999_354e = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %broadcast_in_dim_f4c9 = stablehlo.broadcast_in_dim %c_0.999_354e, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_42ad = stablehlo.multiply %broadcast_in_dim_f4c9, %arg6 : tensor<128x128xf32>
    %add_0ba4 = stablehlo.add %multiply_0cd5, %multiply_42ad : tensor<128x128xf32>
    %c_2.14748e09_0981 = stablehlo.constant dense<2147483647> : tensor<i32>
    %compare = stablehlo.compare LT, %arg2, %c_2.14748e09_0981, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_1_3606 = stablehlo.constant dense<1> : tensor<i32>
    %add_714e = stablehlo.add %arg2, %c_1_3606 : tensor<i32>
    %c_2.14748e09_98d1 = stablehlo.constant dense<2147483647> : tensor<i32>
    %call = call @select_eb84ca(%compare, %add_714e, %c_2.14748e09_98d1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %c_0.9_ab99 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %convert_75e9 = stablehlo.convert %call : (tensor<i32>) -> tensor<f32>
    %power_b50d = stablehlo.power %c_0.9_ab99, %convert_75e9 : tensor<f32>
    %c_1_84c4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %subtract_71e5 = stablehlo.subtract %c_1_84c4, %power_b50d : tensor<f32>
    %broadcast_in_dim_f124 = stablehlo.broadcast_in_dim %subtract_71e5, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %divide_8bb5 = stablehlo.divide %add_9507, %broadcast_in_dim_f124 : tensor<128xf32>
    %broadcast_in_dim_77ce = stablehlo.broadcast_in_dim %subtract_71e5, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %divide_5972 = stablehlo.divide %add_2d0f, %broadcast_in_dim_77ce : tensor<128x128xf32>
    %c_0.999_fe02 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %convert_d4d1 = stablehlo.convert %call : (tensor<i32>) -> tensor<f32>
    %power_b303 = stablehlo.power %c_0.999_fe02, %convert_d4d1 : tensor<f32>
    %c_1_88be = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %subtract_8fb5 = stablehlo.subtract %c_1_88be, %power_b303 : tensor<f32>
    %broadcast_in_dim_d1f1 = stablehlo.broadcast_in_dim %subtract_8fb5, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %divide_fd48 = stablehlo.divide %add_4f10, %broadcast_in_dim_d1f1 : tensor<128xf32>
    %broadcast_in_dim_14a7 = stablehlo.broadcast_in_dim %subtract_8fb5, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %divide_1bec = stablehlo.divide %add_0ba4, %broadcast_in_dim_14a7 : tensor<128x128xf32>
    %c_0_4ca9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_0768 = stablehlo.broadcast_in_dim %c_0_4ca9, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %add_b872 = stablehlo.add %divide_fd48, %broadcast_in_dim_0768 : tensor<128xf32>
    %sqrt_ec25 = stablehlo.sqrt %add_b872 : tensor<128xf32>
    %c_1e-08_92f9 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %broadcast_in_dim_1b2b = stablehlo.broadcast_in_dim %c_1e-08_92f9, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %add_a0e5 = stablehlo.add %sqrt_ec25, %broadcast_in_dim_1b2b : tensor<128xf32>
    %divide_31e0 = stablehlo.divide %divide_8bb5, %add_a0e5 : tensor<128xf32>
    %c_0_5212 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_0fa1 = stablehlo.broadcast_in_dim %c_0_5212, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %add_8a93 = stablehlo.add %divide_1bec, %broadcast_in_dim_0fa1 : tensor<128x128xf32>
    %sqrt_66fd = stablehlo.sqrt %add_8a93 : tensor<128x128xf32>
    %c_1e-08_4706 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %broadcast_in_dim_9386 = stablehlo.broadcast_in_dim %c_1e-08_4706, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %add_02c0 = stablehlo.add %sqrt_66fd, %broadcast_in_dim_9386 : tensor<128x128xf32>
    %divide_1e0a = stablehlo.divide %divide_5972, %add_02c0 : tensor<128x128xf32>
    %c_0.001_4b74 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_861b = stablehlo.broadcast_in_dim %c_0.001_4b74, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_48d0 = stablehlo.multiply %broadcast_in_dim_861b, %divide_31e0 : tensor<128xf32>
    %subtract_2ff3 = stablehlo.subtract %arg0, %multiply_48d0 : tensor<128xf32>
    %c_0.001_c280 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_892f = stablehlo.broadcast_in_dim %c_0.001_c280, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_ac1c = stablehlo.multiply %broadcast_in_dim_892f, %divide_1e0a : tensor<128x128xf32>
    %subtract_7914 = stablehlo.subtract %arg1, %multiply_ac1c : tensor<128x128xf32>
    return %subtract_2ff3, %subtract_7914, %call, %add_9507, %add_2d0f, %add_4f10, %add_0ba4 : tensor<128xf32>, tensor<128x128xf32>, tensor<i32>, tensor<128xf32>, tensor<128x128xf32>, tensor<128xf32>, tensor<128x128xf32>
  }
  func.func private @select_eb84ca(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %select = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %select : tensor<i32>
  }
}
