module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x16xf32>, %arg1: tensor<128x32xf32>, %arg2: tensor<128xf32>, %arg3: tensor<16x32xf32>, %arg4: tensor<16xf32>, %arg5: tensor<8x12x16xf32>, %arg6: tensor<8x16xf32>) -> (tensor<128x16xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<16x32xf32>, tensor<16xf32>) {
    %c_0_48be = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_b6e2 = stablehlo.broadcast_in_dim %c_0_48be, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %c_0_1697 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_a3a3 = stablehlo.broadcast_in_dim %c_0_1697, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %broadcast_in_dim_7787 = stablehlo.broadcast_in_dim %broadcast_in_dim_b6e2, dims = [1] : (tensor<32xf32>) -> tensor<8x32xf32>
    %broadcast_in_dim_1161 = stablehlo.broadcast_in_dim %broadcast_in_dim_a3a3, dims = [1] : (tensor<32xf32>) -> tensor<8x32xf32>
    %transpose_db2c = stablehlo.transpose %arg5, dims = [1, 0, 2] : (tensor<8x12x16xf32>) -> tensor<12x8x16xf32>
    %broadcast_in_dim_73a3 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<128xf32>) -> tensor<1x128xf32>
    %c_0_b21e = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_f4c3 = stablehlo.broadcast_in_dim %c_0_b21e, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_7944 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_2ac5 = stablehlo.broadcast_in_dim %c_0_7944, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_b34e = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_d2dd = stablehlo.broadcast_in_dim %c_0_b34e, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_31ed = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_8964 = stablehlo.broadcast_in_dim %c_0_31ed, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_e755 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_98ea = stablehlo.broadcast_in_dim %c_0_e755, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_f187 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_e098 = stablehlo.broadcast_in_dim %c_0_f187, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_ea95 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_c2a5 = stablehlo.broadcast_in_dim %c_0_ea95, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_213e = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_ef18 = stablehlo.broadcast_in_dim %c_0_213e, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_5220 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_d94c = stablehlo.broadcast_in_dim %c_0_5220, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_7989 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_bd9c = stablehlo.broadcast_in_dim %c_0_7989, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_e0cf = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_6732 = stablehlo.broadcast_in_dim %c_0_e0cf, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_c1e1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_f080 = stablehlo.broadcast_in_dim %c_0_c1e1, dims = [] : (tensor<f32>) -> tensor<12x8x32xf32>
    %c_0_fe98 = stablehlo.constant dense<0> : tensor<i32>
    %while_acfe:19 = stablehlo.while(%carry_02e9 = %transpose_db2c, %carry_6404 = %arg0, %carry_866d = %arg1, %carry_000b = %broadcast_in_dim_73a3, %carry_7d8b = %c_0_fe98, %carry_dfaf = %broadcast_in_dim_7787, %carry_f5dc = %broadcast_in_dim_1161, %carry_fc7d = %broadcast_in_dim_f4c3, %carry_aead = %broadcast_in_dim_2ac5, %carry_04c5 = %broadcast_in_dim_d2dd, %carry_e646 = %broadcast_in_dim_8964, %carry_fd32 = %broadcast_in_dim_98ea, %carry_f7b4 = %broadcast_in_dim_e098, %carry_a9df = %broadcast_in_dim_c2a5, %carry_702f = %broadcast_in_dim_ef18, %carry_f342 = %broadcast_in_dim_d94c, %carry_eed7 = %broadcast_in_dim_bd9c, %carry_5a26 = %broadcast_in_dim_6732, %carry_1742 = %broadcast_in_dim_f080) : tensor<12x8x16xf32>, tensor<128x16xf32>, tensor<128x32xf32>, tensor<1x128xf32>, tensor<i32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>
    cond {
      %c_12_c2f6_1 = stablehlo.constant dense<12> : tensor<i32>
      %compare_dff2_1 = stablehlo.compare LT, %carry_7d8b, %c_12_c2f6_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %compare_dff2_1 : tensor<i1>
    } do {
      %call_116a = func.call @reshape_9b499d(%carry_02e9, %carry_7d8b) : (tensor<12x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %call_c8c5:14 = func.call @multiply_6971e3(%carry_6404, %carry_866d, %carry_000b, %carry_dfaf, %carry_f5dc, %call_116a) : (tensor<128x16xf32>, tensor<128x32xf32>, tensor<1x128xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x16xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>)
      %call_6738 = func.call @dynamic_update_slice_d6b5d6(%carry_fc7d, %call_c8c5#2, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %call_38a9 = func.call @dynamic_update_slice_d6b5d6(%carry_aead, %call_c8c5#3, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %call_e399 = func.call @dynamic_update_slice_d6b5d6(%carry_04c5, %call_c8c5#4, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %call_e50e = func.call @dynamic_update_slice_d6b5d6(%carry_e646, %call_c8c5#5, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %call_cf50 = func.call @dynamic_update_slice_d6b5d6(%carry_fd32, %call_c8c5#6, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %call_b344 = func.call @dynamic_update_slice_d6b5d6(%carry_f7b4, %call_c8c5#7, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %call_afb4 = func.call @dynamic_update_slice_d6b5d6(%carry_a9df, %call_c8c5#8, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %call_66bd = func.call @dynamic_update_slice_d6b5d6(%carry_702f, %call_c8c5#9, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %call_8d1f = func.call @dynamic_update_slice_d6b5d6(%carry_f342, %call_c8c5#10, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %call_7d0a = func.call @dynamic_update_slice_d6b5d6(%carry_eed7, %call_c8c5#11, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %call_f167 = func.call @dynamic_update_slice_d6b5d6(%carry_5a26, %call_c8c5#12, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %call_e67c = func.call @dynamic_update_slice_d6b5d6(%carry_1742, %call_c8c5#13, %carry_7d8b) : (tensor<12x8x32xf32>, tensor<8x32xf32>, tensor<i32>) -> tensor<12x8x32xf32>
      %c_1_b8d6 = stablehlo.constant dense<1> : tensor<i32>
      %add_ecab = stablehlo.add %carry_7d8b, %c_1_b8d6 : tensor<i32>
      stablehlo.return %carry_02e9, %carry_6404, %carry_866d, %carry_000b, %add_ecab, %call_c8c5#0, %call_c8c5#1, %call_6738, %call_38a9, %call_e399, %call_e50e, %call_cf50, %call_b344, %call_afb4, %call_66bd, %call_8d1f, %call_7d0a, %call_f167, %call_e67c : tensor<12x8x16xf32>, tensor<128x16xf32>, tensor<128x32xf32>, tensor<1x128xf32>, tensor<i32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>
    }
    %dot_general_dc3c = stablehlo.dot_general %arg3, %while_acfe#5, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<8x32xf32>) -> tensor<16x8xf32>
    %transpose_b32a = stablehlo.transpose %dot_general_dc3c, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %broadcast_in_dim_229e = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %broadcast_in_dim_6455 = stablehlo.broadcast_in_dim %broadcast_in_dim_229e, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %add_6f4e = stablehlo.add %transpose_b32a, %broadcast_in_dim_6455 : tensor<8x16xf32>
    %subtract_8fd6 = stablehlo.subtract %add_6f4e, %arg6 : tensor<8x16xf32>
    %c_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %broadcast_in_dim_6e18 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %multiply_bf06 = stablehlo.multiply %broadcast_in_dim_6e18, %subtract_8fd6 : tensor<8x16xf32>
    %c_1_fdf5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_128 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %divide = stablehlo.divide %c_1_fdf5, %c_128 : tensor<f32>
    %broadcast_in_dim_1c49 = stablehlo.broadcast_in_dim %divide, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %multiply_d795 = stablehlo.multiply %broadcast_in_dim_1c49, %multiply_bf06 : tensor<8x16xf32>
    %c_0_0eed = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_e060 = stablehlo.reduce(%multiply_d795 init: %c_0_0eed) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %reshape = stablehlo.reshape %reduce_add_e060 : (tensor<16xf32>) -> tensor<1x16xf32>
    %c_0_36f0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_db6a = stablehlo.reduce(%reshape init: %c_0_36f0) applies stablehlo.add across dimensions = [0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %transpose_1515 = stablehlo.transpose %multiply_d795, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %dot_general_de23 = stablehlo.dot_general %transpose_1515, %arg3, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %dot_general_7d3e = stablehlo.dot_general %transpose_1515, %while_acfe#5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
    %c_0_9015 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_807f = stablehlo.broadcast_in_dim %c_0_9015, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %c_0_3951 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_75d9 = stablehlo.broadcast_in_dim %c_0_3951, dims = [] : (tensor<f32>) -> tensor<128x16xf32>
    %c_0_5b8f = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_de99 = stablehlo.broadcast_in_dim %c_0_5b8f, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %c_0_ed20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_538b = stablehlo.broadcast_in_dim %c_0_ed20, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %c_0_fe5c = stablehlo.constant dense<0> : tensor<i32>
    %while_78e2:20 = stablehlo.while(%carry_ca96 = %transpose_db2c, %carry_d737 = %while_acfe#7, %carry_2318 = %while_acfe#8, %carry_b20a = %while_acfe#9, %carry_1fea = %while_acfe#10, %carry_1563 = %while_acfe#11, %carry_6370 = %while_acfe#12, %carry_7bd6 = %while_acfe#13, %carry_97d2 = %while_acfe#14, %carry_7c0d = %while_acfe#15, %carry_4c41 = %while_acfe#16, %carry_8a3d = %while_acfe#17, %carry_0558 = %while_acfe#18, %carry_1358 = %arg1, %carry_ccc5 = %c_0_fe5c, %carry_5394 = %broadcast_in_dim_75d9, %carry_777f = %broadcast_in_dim_de99, %carry_9a2c = %broadcast_in_dim_538b, %carry_c2b0 = %dot_general_de23, %carry_98a5 = %broadcast_in_dim_807f) : tensor<12x8x16xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<128x32xf32>, tensor<i32>, tensor<128x16xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<8x32xf32>, tensor<8x32xf32>
    cond {
      %c_12_c2f6_2 = stablehlo.constant dense<12> : tensor<i32>
      %compare_dff2_2 = stablehlo.compare LT, %carry_ccc5, %c_12_c2f6_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %compare_dff2_2 : tensor<i1>
    } do {
      %c_12_9942 = stablehlo.constant dense<12> : tensor<i32>
      %subtract_31be = stablehlo.subtract %c_12_9942, %carry_ccc5 : tensor<i32>
      %c_1_44a7 = stablehlo.constant dense<1> : tensor<i32>
      %subtract_802d = stablehlo.subtract %subtract_31be, %c_1_44a7 : tensor<i32>
      %call_1d67 = func.call @reshape_9b499d(%carry_ca96, %subtract_802d) : (tensor<12x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %call_4e6d = func.call @reshape_dc1e69(%carry_d737, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_541a = func.call @reshape_dc1e69(%carry_2318, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_cb69 = func.call @reshape_dc1e69(%carry_b20a, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_e7a9 = func.call @reshape_dc1e69(%carry_1fea, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_5e7e = func.call @reshape_dc1e69(%carry_1563, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_db02 = func.call @reshape_dc1e69(%carry_6370, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_8a6b = func.call @reshape_dc1e69(%carry_7bd6, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_b207 = func.call @reshape_dc1e69(%carry_97d2, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_5b63 = func.call @reshape_dc1e69(%carry_7c0d, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_495b = func.call @reshape_dc1e69(%carry_4c41, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_d4dd = func.call @reshape_dc1e69(%carry_8a3d, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_b11f = func.call @reshape_dc1e69(%carry_0558, %subtract_802d) : (tensor<12x8x32xf32>, tensor<i32>) -> tensor<8x32xf32>
      %call_4881:5 = func.call @add_413fd9(%carry_1358, %carry_5394, %carry_777f, %carry_9a2c, %carry_c2b0, %carry_98a5, %call_1d67, %call_4e6d, %call_541a, %call_cb69, %call_e7a9, %call_5e7e, %call_db02, %call_8a6b, %call_b207, %call_5b63, %call_495b, %call_d4dd, %call_b11f) : (tensor<128x32xf32>, tensor<128x16xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x16xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) -> (tensor<128x16xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<8x32xf32>, tensor<8x32xf32>)
      %c_1_e328 = stablehlo.constant dense<1> : tensor<i32>
      %add_d4a3 = stablehlo.add %carry_ccc5, %c_1_e328 : tensor<i32>
      stablehlo.return %carry_ca96, %carry_d737, %carry_2318, %carry_b20a, %carry_1fea, %carry_1563, %carry_6370, %carry_7bd6, %carry_97d2, %carry_7c0d, %carry_4c41, %carry_8a3d, %carry_0558, %carry_1358, %add_d4a3, %call_4881#0, %call_4881#1, %call_4881#2, %call_4881#3, %call_4881#4 : tensor<12x8x16xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<12x8x32xf32>, tensor<128x32xf32>, tensor<i32>, tensor<128x16xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<8x32xf32>, tensor<8x32xf32>
    }
    return %while_78e2#15, %while_78e2#16, %while_78e2#17, %dot_general_7d3e, %reduce_add_db6a : tensor<128x16xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<16x32xf32>, tensor<16xf32>
  }
  func.func private @reshape_9b499d(%arg0: tensor<12x8x16xf32>, %arg1: tensor<i32>) -> tensor<8x16xf32> {
    %c_0_1075 = stablehlo.constant dense<0> : tensor<i32>
    %c_0_e207 = stablehlo.constant dense<0> : tensor<i32>
    %dynamic_slice = stablehlo.dynamic_slice %arg0, %arg1, %c_0_1075, %c_0_e207, sizes = [1, 8, 16] : (tensor<12x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
    %reshape = stablehlo.reshape %dynamic_slice : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
    return %reshape : tensor<8x16xf32>
  }
  func.func private @multiply_6971e3(%arg0: tensor<128x16xf32>, %arg1: tensor<128x32xf32>, %arg2: tensor<1x128xf32>, %arg3: tensor<8x32xf32>, %arg4: tensor<8x32xf32>, %arg5: tensor<8x16xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
    %dot_general_1be4 = stablehlo.dot_general %arg0, %arg5, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<128x16xf32>, tensor<8x16xf32>) -> tensor<128x8xf32>
    %dot_general_f915 = stablehlo.dot_general %arg1, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<128x32xf32>, tensor<8x32xf32>) -> tensor<128x8xf32>
    %add_f4ef = stablehlo.add %dot_general_1be4, %dot_general_f915 : tensor<128x8xf32>
    %transpose = stablehlo.transpose %add_f4ef, dims = [1, 0] : (tensor<128x8xf32>) -> tensor<8x128xf32>
    %broadcast_in_dim_355f = stablehlo.broadcast_in_dim %arg2, dims = [0, 1] : (tensor<1x128xf32>) -> tensor<8x128xf32>
    %add_21c3 = stablehlo.add %transpose, %broadcast_in_dim_355f : tensor<8x128xf32>
    %slice_c498 = stablehlo.slice %add_21c3 [0:8, 0:32] : (tensor<8x128xf32>) -> tensor<8x32xf32>
    %slice_94ce = stablehlo.slice %add_21c3 [0:8, 32:64] : (tensor<8x128xf32>) -> tensor<8x32xf32>
    %slice_ad8b = stablehlo.slice %add_21c3 [0:8, 64:96] : (tensor<8x128xf32>) -> tensor<8x32xf32>
    %slice_a1a8 = stablehlo.slice %add_21c3 [0:8, 96:128] : (tensor<8x128xf32>) -> tensor<8x32xf32>
    %negate_7c9f = stablehlo.negate %slice_c498 : tensor<8x32xf32>
    %exponential_25cb = stablehlo.exponential %negate_7c9f : tensor<8x32xf32>
    %c_1_51b5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_3246 = stablehlo.broadcast_in_dim %c_1_51b5, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %add_a7e0 = stablehlo.add %broadcast_in_dim_3246, %exponential_25cb : tensor<8x32xf32>
    %c_1_4f30 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_3b79 = stablehlo.broadcast_in_dim %c_1_4f30, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %divide_758c = stablehlo.divide %broadcast_in_dim_3b79, %add_a7e0 : tensor<8x32xf32>
    %c_1_0282 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_4d3a = stablehlo.broadcast_in_dim %c_1_0282, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %subtract_1bee = stablehlo.subtract %broadcast_in_dim_4d3a, %divide_758c : tensor<8x32xf32>
    %multiply_0b9d = stablehlo.multiply %divide_758c, %subtract_1bee : tensor<8x32xf32>
    %negate_0b57 = stablehlo.negate %slice_94ce : tensor<8x32xf32>
    %exponential_7501 = stablehlo.exponential %negate_0b57 : tensor<8x32xf32>
    %c_1_b279 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_3f34 = stablehlo.broadcast_in_dim %c_1_b279, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %add_0111 = stablehlo.add %broadcast_in_dim_3f34, %exponential_7501 : tensor<8x32xf32>
    %c_1_ba63 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_8c86 = stablehlo.broadcast_in_dim %c_1_ba63, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %divide_9b06 = stablehlo.divide %broadcast_in_dim_8c86, %add_0111 : tensor<8x32xf32>
    %c_1_3b0e = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_ad7d = stablehlo.broadcast_in_dim %c_1_3b0e, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %subtract_b39a = stablehlo.subtract %broadcast_in_dim_ad7d, %divide_9b06 : tensor<8x32xf32>
    %multiply_02fd = stablehlo.multiply %divide_9b06, %subtract_b39a : tensor<8x32xf32>
    %tanh_609e = stablehlo.tanh %slice_ad8b : tensor<8x32xf32>
    %c_1_45ed = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_a792 = stablehlo.broadcast_in_dim %c_1_45ed, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %subtract_775c = stablehlo.subtract %broadcast_in_dim_a792, %tanh_609e : tensor<8x32xf32>
    %negate_f58a = stablehlo.negate %slice_a1a8 : tensor<8x32xf32>
    %exponential_754e = stablehlo.exponential %negate_f58a : tensor<8x32xf32>
    %c_1_2007 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_4d47 = stablehlo.broadcast_in_dim %c_1_2007, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %add_ba1c = stablehlo.add %broadcast_in_dim_4d47, %exponential_754e : tensor<8x32xf32>
    %c_1_e096 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_0173 = stablehlo.broadcast_in_dim %c_1_e096, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %divide_a010 = stablehlo.divide %broadcast_in_dim_0173, %add_ba1c : tensor<8x32xf32>
    %c_1_34dc = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_9278 = stablehlo.broadcast_in_dim %c_1_34dc, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %subtract_870d = stablehlo.subtract %broadcast_in_dim_9278, %divide_a010 : tensor<8x32xf32>
    %multiply_57e7 = stablehlo.multiply %divide_a010, %subtract_870d : tensor<8x32xf32>
    %multiply_cf6d = stablehlo.multiply %divide_9b06, %arg4 : tensor<8x32xf32>
    %multiply_8eb8 = stablehlo.multiply %divide_758c, %tanh_609e : tensor<8x32xf32>
    %add_f5ae = stablehlo.add %multiply_cf6d, %multiply_8eb8 : tensor<8x32xf32>
    %tanh_4b04 = stablehlo.tanh %add_f5ae : tensor<8x32xf32>
    %c_1_8328 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %broadcast_in_dim_107d = stablehlo.broadcast_in_dim %c_1_8328, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %subtract_fccf = stablehlo.subtract %broadcast_in_dim_107d, %tanh_4b04 : tensor<8x32xf32>
    %multiply_2c65 = stablehlo.multiply %divide_a010, %tanh_4b04 : tensor<8x32xf32>
    return %multiply_2c65, %add_f5ae, %arg3, %multiply_0b9d, %multiply_02fd, %tanh_609e, %subtract_775c, %multiply_57e7, %arg4, %divide_9b06, %divide_758c, %tanh_4b04, %subtract_fccf, %divide_a010 : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
  }
  func.func private @dynamic_update_slice_d6b5d6(%arg0: tensor<12x8x32xf32>, %arg1: tensor<8x32xf32>, %arg2: tensor<i32>) -> tensor<12x8x32xf32> {
    %broadcast_in_dim = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<8x32xf32>) -> tensor<1x8x32xf32>
    %c_0_c8ce = stablehlo.constant dense<0> : tensor<i32>
    %c_0_c80c = stablehlo.constant dense<0> : tensor<i32>
    %dynamic_update_slice = stablehlo.dynamic_update_slice %arg0, %broadcast_in_dim, %arg2, %c_0_c8ce, %c_0_c80c : (tensor<12x8x32xf32>, tensor<1x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<12x8x32xf32>
    return %dynamic_update_slice : tensor<12x8x32xf32>
  }
  func.func private @reshape_dc1e69(%arg0: tensor<12x8x32xf32>, %arg1: tensor<i32>) -> tensor<8x32xf32> {
    %c_0_1075 = stablehlo.constant dense<0> : tensor<i32>
    %c_0_e207 = stablehlo.constant dense<0> : tensor<i32>
    %dynamic_slice = stablehlo.dynamic_slice %arg0, %arg1, %c_0_1075, %c_0_e207, sizes = [1, 8, 32] : (tensor<12x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x32xf32>
    %reshape = stablehlo.reshape %dynamic_slice : (tensor<1x8x32xf32>) -> tensor<8x32xf32>
    return %reshape : tensor<8x32xf32>
  }
  func.func private @add_413fd9(%arg0: tensor<128x32xf32>, %arg1: tensor<128x16xf32>, %arg2: tensor<128x32xf32>, %arg3: tensor<128xf32>, %arg4: tensor<8x32xf32>, %arg5: tensor<8x32xf32>, %arg6: tensor<8x16xf32>, %arg7: tensor<8x32xf32>, %arg8: tensor<8x32xf32>, %arg9: tensor<8x32xf32>, %arg10: tensor<8x32xf32>, %arg11: tensor<8x32xf32>, %arg12: tensor<8x32xf32>, %arg13: tensor<8x32xf32>, %arg14: tensor<8x32xf32>, %arg15: tensor<8x32xf32>, %arg16: tensor<8x32xf32>, %arg17: tensor<8x32xf32>, %arg18: tensor<8x32xf32>) -> (tensor<128x16xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
    %multiply_a5c8 = stablehlo.multiply %arg18, %arg4 : tensor<8x32xf32>
    %multiply_ce76 = stablehlo.multiply %arg4, %arg16 : tensor<8x32xf32>
    %multiply_5dd7 = stablehlo.multiply %multiply_a5c8, %arg17 : tensor<8x32xf32>
    %add_1611 = stablehlo.add %arg5, %multiply_5dd7 : tensor<8x32xf32>
    %multiply_60e5 = stablehlo.multiply %multiply_5dd7, %arg16 : tensor<8x32xf32>
    %add_e2c2 = stablehlo.add %add_1611, %multiply_60e5 : tensor<8x32xf32>
    %multiply_73cd = stablehlo.multiply %arg15, %add_e2c2 : tensor<8x32xf32>
    %multiply_eef6 = stablehlo.multiply %add_e2c2, %arg10 : tensor<8x32xf32>
    %multiply_2944 = stablehlo.multiply %arg14, %add_e2c2 : tensor<8x32xf32>
    %multiply_ae6d = stablehlo.multiply %add_e2c2, %arg13 : tensor<8x32xf32>
    %multiply_5767 = stablehlo.multiply %multiply_ce76, %arg12 : tensor<8x32xf32>
    %multiply_18f8 = stablehlo.multiply %multiply_73cd, %arg11 : tensor<8x32xf32>
    %multiply_5dd0 = stablehlo.multiply %multiply_18f8, %arg10 : tensor<8x32xf32>
    %add_d169 = stablehlo.add %multiply_18f8, %multiply_5dd0 : tensor<8x32xf32>
    %multiply_d543 = stablehlo.multiply %multiply_ae6d, %arg9 : tensor<8x32xf32>
    %multiply_bfc7 = stablehlo.multiply %multiply_eef6, %arg8 : tensor<8x32xf32>
    %concatenate = stablehlo.concatenate %multiply_bfc7, %multiply_d543, %add_d169, %multiply_5767, dim = 1 : (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x128xf32>
    %c_0_2d39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_c93d = stablehlo.reduce(%concatenate init: %c_0_2d39) applies stablehlo.add across dimensions = [0] : (tensor<8x128xf32>, tensor<f32>) -> tensor<128xf32>
    %reshape = stablehlo.reshape %reduce_add_c93d : (tensor<128xf32>) -> tensor<1x128xf32>
    %c_0_55f4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %reduce_add_37eb = stablehlo.reduce(%reshape init: %c_0_55f4) applies stablehlo.add across dimensions = [0] : (tensor<1x128xf32>, tensor<f32>) -> tensor<128xf32>
    %add_1372 = stablehlo.add %arg3, %reduce_add_37eb : tensor<128xf32>
    %transpose = stablehlo.transpose %concatenate, dims = [1, 0] : (tensor<8x128xf32>) -> tensor<128x8xf32>
    %dot_general_4340 = stablehlo.dot_general %transpose, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x8xf32>, tensor<128x32xf32>) -> tensor<8x32xf32>
    %dot_general_40b3 = stablehlo.dot_general %transpose, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x8xf32>, tensor<8x32xf32>) -> tensor<128x32xf32>
    %add_c13a = stablehlo.add %arg2, %dot_general_40b3 : tensor<128x32xf32>
    %dot_general_53ae = stablehlo.dot_general %transpose, %arg6, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x8xf32>, tensor<8x16xf32>) -> tensor<128x16xf32>
    %add_066d = stablehlo.add %arg1, %dot_general_53ae : tensor<128x16xf32>
    return %add_066d, %add_c13a, %add_1372, %dot_general_4340, %multiply_2944 : tensor<128x16xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<8x32xf32>, tensor<8x32xf32>
  }
}
