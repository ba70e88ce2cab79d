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
    %annotate_device_placement_d7c6 = stablehlo.custom_call @annotate_device_placement(%arg2) {backend_config = "", has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<i32>) -> tensor<i32>
    %annotate_device_placement_ba2c = stablehlo.custom_call @annotate_device_placement(%arg3) {backend_config = "", has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<128xf32>) -> tensor<128xf32>
    %annotate_device_placement_f617 = stablehlo.custom_call @annotate_device_placement(%arg4) {backend_config = "", has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %annotate_device_placement_79a6 = stablehlo.custom_call @annotate_device_placement(%arg5) {backend_config = "", has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<128xf32>) -> tensor<128xf32>
    %annotate_device_placement_d0ba = stablehlo.custom_call @annotate_device_placement(%arg6) {backend_config = "", has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %c_0.1_2279 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_f6c1 = stablehlo.broadcast_in_dim %c_0.1_2279, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_b819 = stablehlo.multiply %broadcast_in_dim_f6c1, %reduce_add_8b4c : tensor<128xf32>
    %c_0.9_5a1e = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_2d4b = stablehlo.broadcast_in_dim %c_0.9_5a1e, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_6f09 = stablehlo.multiply %broadcast_in_dim_2d4b, %annotate_device_placement_ba2c : tensor<128xf32>
    %add_f216 = stablehlo.add %multiply_b819, %multiply_6f09 : tensor<128xf32>
    %c_0.1_d9fd = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %broadcast_in_dim_91f7 = stablehlo.broadcast_in_dim %c_0.1_d9fd, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_2a04 = stablehlo.multiply %broadcast_in_dim_91f7, %transpose : tensor<128x128xf32>
    %c_0.9_91e3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %broadcast_in_dim_e8a3 = stablehlo.broadcast_in_dim %c_0.9_91e3, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_c50c = stablehlo.multiply %broadcast_in_dim_e8a3, %annotate_device_placement_f617 : tensor<128x128xf32>
    %add_36f1 = stablehlo.add %multiply_2a04, %multiply_c50c : tensor<128x128xf32>
    %multiply_9a13 = stablehlo.multiply %reduce_add_8b4c, %reduce_add_8b4c : tensor<128xf32>
    %c_0.001_5bbf = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_8bc4 = stablehlo.broadcast_in_dim %c_0.001_5bbf, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_c1ab = stablehlo.multiply %broadcast_in_dim_8bc4, %multiply_9a13 : tensor<128xf32>
    %c_0.999_5a72 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %broadcast_in_dim_750f = stablehlo.broadcast_in_dim %c_0.999_5a72, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_ca23 = stablehlo.multiply %broadcast_in_dim_750f, %annotate_device_placement_79a6 : tensor<128xf32>
    %add_6181 = stablehlo.add %multiply_c1ab, %multiply_ca23 : tensor<128xf32>
    %multiply_863f = stablehlo.multiply %transpose, %transpose : tensor<128x128xf32>
    %c_0.001_b654 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_edfc = stablehlo.broadcast_in_dim %c_0.001_b654, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_ef3b = stablehlo.multiply %broadcast_in_dim_edfc, %multiply_863f : tensor<128x128xf32>
    %c_0.999_2c2f = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %broadcast_in_dim_8d6d = stablehlo.broadcast_in_dim %c_0.999_2c2f, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_93ff = stablehlo.multiply %broadcast_in_dim_8d6d, %annotate_device_placement_d0ba : tensor<128x128xf32>
    %add_f740 = stablehlo.add %multiply_ef3b, %multiply_93ff : tensor<128x128xf32>
    %c_2.14748e09_0981 = stablehlo.constant dense<2147483647> : tensor<i32>
    %compare = stablehlo.compare LT, %annotate_device_placement_d7c6, %c_2.14748e09_0981, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_1_3606 = stablehlo.constant dense<1> : tensor<i32>
    %add_2e28 = stablehlo.add %annotate_device_placement_d7c6, %c_1_3606 : tensor<i32>
    %c_2.14748e09_98d1 = stablehlo.constant dense<2147483647> : tensor<i32>
    %call = call @select_eb84ca(%compare, %add_2e28, %c_2.14748e09_98d1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %c_0.9_ab99 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %convert_e15b = stablehlo.convert %call : (tensor<i32>) -> tensor<f32>
    %power_b50d = stablehlo.power %c_0.9_ab99, %convert_e15b : tensor<f32>
    %c_1_84c4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %subtract_71e5 = stablehlo.subtract %c_1_84c4, %power_b50d : tensor<f32>
    %broadcast_in_dim_e7df = stablehlo.broadcast_in_dim %subtract_71e5, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %divide_560d = stablehlo.divide %add_f216, %broadcast_in_dim_e7df : tensor<128xf32>
    %broadcast_in_dim_984d = stablehlo.broadcast_in_dim %subtract_71e5, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %divide_a02c = stablehlo.divide %add_36f1, %broadcast_in_dim_984d : tensor<128x128xf32>
    %c_0.999_fe02 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %convert_a673 = stablehlo.convert %call : (tensor<i32>) -> tensor<f32>
    %power_b303 = stablehlo.power %c_0.999_fe02, %convert_a673 : tensor<f32>
    %c_1_88be = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %subtract_8fb5 = stablehlo.subtract %c_1_88be, %power_b303 : tensor<f32>
    %broadcast_in_dim_7b10 = stablehlo.broadcast_in_dim %subtract_8fb5, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %divide_3169 = stablehlo.divide %add_6181, %broadcast_in_dim_7b10 : tensor<128xf32>
    %broadcast_in_dim_cafc = stablehlo.broadcast_in_dim %subtract_8fb5, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %divide_c92d = stablehlo.divide %add_f740, %broadcast_in_dim_cafc : tensor<128x128xf32>
    %c_0_9b37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_a189 = stablehlo.broadcast_in_dim %c_0_9b37, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %add_6dbd = stablehlo.add %divide_3169, %broadcast_in_dim_a189 : tensor<128xf32>
    %sqrt_43d5 = stablehlo.sqrt %add_6dbd : tensor<128xf32>
    %c_1e-08_c05d = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %broadcast_in_dim_ef51 = stablehlo.broadcast_in_dim %c_1e-08_c05d, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %add_b168 = stablehlo.add %sqrt_43d5, %broadcast_in_dim_ef51 : tensor<128xf32>
    %divide_8b07 = stablehlo.divide %divide_560d, %add_b168 : tensor<128xf32>
    %c_0_e6c0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_4951 = stablehlo.broadcast_in_dim %c_0_e6c0, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %add_0e20 = stablehlo.add %divide_c92d, %broadcast_in_dim_4951 : tensor<128x128xf32>
    %sqrt_1759 = stablehlo.sqrt %add_0e20 : tensor<128x128xf32>
    %c_1e-08_4734 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %broadcast_in_dim_5ad0 = stablehlo.broadcast_in_dim %c_1e-08_4734, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %add_b870 = stablehlo.add %sqrt_1759, %broadcast_in_dim_5ad0 : tensor<128x128xf32>
    %divide_0f62 = stablehlo.divide %divide_a02c, %add_b870 : tensor<128x128xf32>
    %annotate_device_placement_95fd = stablehlo.custom_call @annotate_device_placement(%call) {backend_config = "", has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<i32>) -> tensor<i32>
    %annotate_device_placement_30e7 = stablehlo.custom_call @annotate_device_placement(%add_f216) {backend_config = "", has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<128xf32>) -> tensor<128xf32>
    %annotate_device_placement_99cd = stablehlo.custom_call @annotate_device_placement(%add_36f1) {backend_config = "", has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %annotate_device_placement_3d29 = stablehlo.custom_call @annotate_device_placement(%add_6181) {backend_config = "", has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<128xf32>) -> tensor<128xf32>
    %annotate_device_placement_f4b0 = stablehlo.custom_call @annotate_device_placement(%add_f740) {backend_config = "", has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %c_0.001_4b74 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_861b = stablehlo.broadcast_in_dim %c_0.001_4b74, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %multiply_48d0 = stablehlo.multiply %broadcast_in_dim_861b, %divide_8b07 : tensor<128xf32>
    %subtract_2ff3 = stablehlo.subtract %arg0, %multiply_48d0 : tensor<128xf32>
    %c_0.001_c280 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %broadcast_in_dim_892f = stablehlo.broadcast_in_dim %c_0.001_c280, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %multiply_ac1c = stablehlo.multiply %broadcast_in_dim_892f, %divide_0f62 : tensor<128x128xf32>
    %subtract_7914 = stablehlo.subtract %arg1, %multiply_ac1c : tensor<128x128xf32>
    return %subtract_2ff3, %subtract_7914, %annotate_device_placement_95fd, %annotate_device_placement_30e7, %annotate_device_placement_99cd, %annotate_device_placement_3d29, %annotate_device_placement_f4b0 : tensor<128xf32>, tensor<128x128xf32>, tensor<i32>, tensor<128xf32>, tensor<128x128xf32>, tensor<128xf32>, tensor<128x128xf32>
  }
  func.func private @select_eb84ca(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %select = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %select : tensor<i32>
  }
}
