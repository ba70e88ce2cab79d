module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>) -> tensor<3xf32> {
    %call = call @call_0c0fa1(%arg0, %arg1, %arg2) : (tensor<3xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<3xf32>
    return %call : tensor<3xf32>
  }
  func.func private @call_0c0fa1(%arg0: tensor<3xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>) -> tensor<3xf32> {
    %c_7_2e2d = stablehlo.constant dense<7> : tensor<i32>
    %c_table = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6]> : tensor<7xi32>
    %c_true_a0d4 = stablehlo.constant dense<true> : tensor<i1>
    %c_0_ea95 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_c2a5 = stablehlo.broadcast_in_dim %c_0_ea95, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0_213e = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_ef18 = stablehlo.broadcast_in_dim %c_0_213e, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0_463b = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_c75a = stablehlo.broadcast_in_dim %c_0_463b, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0_e52f = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_c7c9 = stablehlo.broadcast_in_dim %c_0_e52f, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0_c1e1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_f080 = stablehlo.broadcast_in_dim %c_0_c1e1, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0_9015 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_807f = stablehlo.broadcast_in_dim %c_0_9015, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %is_finite_4f4f = stablehlo.is_finite %arg0 : (tensor<3xf32>) -> tensor<3xi1>
    %c_true_0a79 = stablehlo.constant dense<true> : tensor<i1>
    %reduce_and_7039 = stablehlo.reduce(%is_finite_4f4f init: %c_true_0a79) applies stablehlo.and across dimensions = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
    %c_true_e1fc = stablehlo.constant dense<true> : tensor<i1>
    %and_3f3e = stablehlo.and %c_true_e1fc, %reduce_and_7039 : tensor<i1>
    %c_0_852d = stablehlo.constant dense<0> : tensor<i32>
    %c_9_d8b4 = stablehlo.constant dense<9> : tensor<i32>
    %call_17cc = call @select_eb84ca(%and_3f3e, %c_0_852d, %c_9_d8b4) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %c_0_4424 = stablehlo.constant dense<0> : tensor<i32>
    %c_true_f982 = stablehlo.constant dense<true> : tensor<i1>
    %c_1_d04d = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_0_7a98 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_0_f2e7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_false_8442 = stablehlo.constant dense<false> : tensor<i1>
    %c_0_d8bf = stablehlo.constant dense<0> : tensor<i32>
    %c_0_d756 = stablehlo.constant dense<0> : tensor<i32>
    %c_0_7934 = stablehlo.constant dense<0> : tensor<i32>
    %c_false_c52d = stablehlo.constant dense<false> : tensor<i1>
    %not_305c = stablehlo.not %c_false_c52d : tensor<i1>
    %c_0_0749 = stablehlo.constant dense<0> : tensor<i32>
    %compare_770f = stablehlo.compare EQ, %call_17cc, %c_0_0749, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %and_0099 = stablehlo.and %not_305c, %compare_770f : tensor<i1>
    %c_0_2d34 = stablehlo.constant dense<0> : tensor<i32>
    %c_true_68c5 = stablehlo.constant dense<true> : tensor<i1>
    %c_0_6501 = stablehlo.constant dense<0> : tensor<i32>
    %while:28 = stablehlo.while(%carry_cb6f = %arg1, %carry_0091 = %arg2, %carry_2d01 = %c_7_2e2d, %carry_238c = %c_table, %carry_1fea = %c_true_a0d4, %carry_196c = %c_0_2d34, %carry_3981 = %and_0099, %carry_4723_26 = %c_true_68c5, %carry_e33b = %arg0, %carry_7028 = %c_0_4424, %carry_1f1b = %c_true_f982, %carry_ad34 = %arg0, %carry_ec62 = %c_1_d04d, %carry_b2ce = %broadcast_in_dim_c2a5, %carry_c3e7 = %broadcast_in_dim_ef18, %carry_00ec = %broadcast_in_dim_c75a, %carry_9b29 = %c_0_7a98, %carry_f7d0 = %broadcast_in_dim_c7c9, %carry_5919 = %broadcast_in_dim_f080, %carry_6b53 = %broadcast_in_dim_807f, %carry_373f = %c_0_f2e7, %carry_4723_27 = %c_false_8442, %carry_4723_28 = %c_0_6501, %carry_fa9f = %c_0_d8bf, %carry_a886 = %c_0_d756, %carry_0db8 = %c_0_7934, %carry_4723_29 = %c_false_c52d, %carry_4723_30 = %call_17cc) : tensor<16xf32>, tensor<16xf32>, tensor<i32>, tensor<7xi32>, tensor<i1>, tensor<i32>, tensor<i1>, tensor<i1>, tensor<3xf32>, tensor<i32>, tensor<i1>, tensor<3xf32>, tensor<f32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>
    cond {
      %not_6f75 = stablehlo.not %carry_4723_29 : tensor<i1>
      %c_0_4099 = stablehlo.constant dense<0> : tensor<i32>
      %compare_84ba = stablehlo.compare EQ, %carry_4723_30, %c_0_4099, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %and_295c = stablehlo.and %not_6f75, %compare_84ba : tensor<i1>
      %c_false_7cdc = stablehlo.constant dense<false> : tensor<i1>
      %reduce_or = stablehlo.reduce(%and_295c init: %c_false_7cdc) applies stablehlo.or across dimensions = [] : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %c_64 = stablehlo.constant dense<64> : tensor<i32>
      %compare_a8d5 = stablehlo.compare LT, %carry_196c, %c_64, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_false_8467 = stablehlo.constant dense<false> : tensor<i1>
      %broadcast_in_dim_2269 = stablehlo.broadcast_in_dim %c_false_8467, dims = [] : (tensor<i1>) -> tensor<i1>
      %compare_d53c = stablehlo.compare NE, %compare_a8d5, %broadcast_in_dim_2269, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %convert_1df6 = stablehlo.convert %compare_d53c : tensor<i1>
      %and_20d1 = stablehlo.and %reduce_or, %convert_1df6 : tensor<i1>
      stablehlo.return %and_20d1 : tensor<i1>
    } do {
      %slice_a9f7 = stablehlo.slice %carry_ad34 [0:1] : (tensor<3xf32>) -> tensor<1xf32>
      %reshape_8d61 = stablehlo.reshape %slice_a9f7 : (tensor<1xf32>) -> tensor<f32>
      %slice_bebf = stablehlo.slice %carry_ad34 [1:2] : (tensor<3xf32>) -> tensor<1xf32>
      %reshape_1e43 = stablehlo.reshape %slice_bebf : (tensor<1xf32>) -> tensor<f32>
      %slice_4482 = stablehlo.slice %carry_ad34 [2:3] : (tensor<3xf32>) -> tensor<1xf32>
      %reshape_8861 = stablehlo.reshape %slice_4482 : (tensor<1xf32>) -> tensor<f32>
      %negate_acb5 = stablehlo.negate %reshape_1e43 : tensor<f32>
      %broadcast_in_dim_cd5a = stablehlo.broadcast_in_dim %negate_acb5, dims = [] : (tensor<f32>) -> tensor<16xf32>
      %multiply_cee9 = stablehlo.multiply %broadcast_in_dim_cd5a, %carry_cb6f : tensor<16xf32>
      %exponential = stablehlo.exponential %multiply_cee9 : tensor<16xf32>
      %broadcast_in_dim_9f02 = stablehlo.broadcast_in_dim %reshape_8d61, dims = [] : (tensor<f32>) -> tensor<16xf32>
      %multiply_16a1 = stablehlo.multiply %broadcast_in_dim_9f02, %exponential : tensor<16xf32>
      %broadcast_in_dim_beea = stablehlo.broadcast_in_dim %reshape_8861, dims = [] : (tensor<f32>) -> tensor<16xf32>
      %add_daea = stablehlo.add %multiply_16a1, %broadcast_in_dim_beea : tensor<16xf32>
      %subtract_a756 = stablehlo.subtract %add_daea, %carry_0091 : tensor<16xf32>
      %subtract_a44e = stablehlo.subtract %carry_ad34, %carry_e33b : tensor<3xf32>
      %dot_general_2636 = stablehlo.dot_general %carry_b2ce, %carry_b2ce, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
      %slice_af43 = stablehlo.slice %subtract_a44e [0:1] : (tensor<3xf32>) -> tensor<1xf32>
      %reshape_0aef = stablehlo.reshape %slice_af43 : (tensor<1xf32>) -> tensor<f32>
      %slice_6e93 = stablehlo.slice %subtract_a44e [1:2] : (tensor<3xf32>) -> tensor<1xf32>
      %reshape_50b9 = stablehlo.reshape %slice_6e93 : (tensor<1xf32>) -> tensor<f32>
      %slice_c2ca = stablehlo.slice %subtract_a44e [2:3] : (tensor<3xf32>) -> tensor<1xf32>
      %reshape_f915 = stablehlo.reshape %slice_c2ca : (tensor<1xf32>) -> tensor<f32>
      %negate_8294 = stablehlo.negate %reshape_50b9 : tensor<f32>
      %broadcast_in_dim_763f = stablehlo.broadcast_in_dim %negate_8294, dims = [] : (tensor<f32>) -> tensor<16xf32>
      %multiply_7f00 = stablehlo.multiply %broadcast_in_dim_763f, %carry_c3e7 : tensor<16xf32>
      %multiply_d050 = stablehlo.multiply %multiply_7f00, %carry_00ec : tensor<16xf32>
      %broadcast_in_dim_adea = stablehlo.broadcast_in_dim %reshape_0aef, dims = [] : (tensor<f32>) -> tensor<16xf32>
      %multiply_45d6 = stablehlo.multiply %broadcast_in_dim_adea, %carry_00ec : tensor<16xf32>
      %broadcast_in_dim_1a24 = stablehlo.broadcast_in_dim %carry_9b29, dims = [] : (tensor<f32>) -> tensor<16xf32>
      %multiply_4060 = stablehlo.multiply %broadcast_in_dim_1a24, %multiply_d050 : tensor<16xf32>
      %add_4115 = stablehlo.add %multiply_45d6, %multiply_4060 : tensor<16xf32>
      %broadcast_in_dim_55b9 = stablehlo.broadcast_in_dim %reshape_f915, dims = [] : (tensor<f32>) -> tensor<16xf32>
      %add_4986 = stablehlo.add %add_4115, %broadcast_in_dim_55b9 : tensor<16xf32>
      %add_cf7e = stablehlo.add %add_4986, %carry_b2ce : tensor<16xf32>
      %dot_general_d8cb = stablehlo.dot_general %add_cf7e, %add_cf7e, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
      %subtract_950c = stablehlo.subtract %dot_general_d8cb, %dot_general_2636 : tensor<f32>
      %c_0.5_c35c = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %multiply_9a72 = stablehlo.multiply %c_0.5_c35c, %subtract_950c : tensor<f32>
      %dot_general_f7b7 = stablehlo.dot_general %carry_b2ce, %carry_b2ce, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
      %c_0.5_a45b = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %multiply_7f39 = stablehlo.multiply %c_0.5_a45b, %dot_general_f7b7 : tensor<f32>
      %dot_general_66f6 = stablehlo.dot_general %subtract_a756, %subtract_a756, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
      %c_0.5_027f = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %multiply_afa7 = stablehlo.multiply %c_0.5_027f, %dot_general_66f6 : tensor<f32>
      %subtract_c2d1 = stablehlo.subtract %multiply_afa7, %multiply_7f39 : tensor<f32>
      %c_0.01 = stablehlo.constant dense<0.00999999977> : tensor<f32>
      %multiply_6bab = stablehlo.multiply %c_0.01, %multiply_9a72 : tensor<f32>
      %compare_26c2 = stablehlo.compare LE, %subtract_c2d1, %multiply_6bab, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %c_0.99 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
      %multiply_a5e3 = stablehlo.multiply %c_0.99, %multiply_9a72 : tensor<f32>
      %compare_b1ff = stablehlo.compare LT, %subtract_c2d1, %multiply_a5e3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %c_0_548b = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %compare_b56c = stablehlo.compare LT, %multiply_9a72, %c_0_548b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %and_19b0 = stablehlo.and %compare_b1ff, %compare_b56c : tensor<i1>
      %not_b8c3 = stablehlo.not %carry_1f1b : tensor<i1>
      %and_7943 = stablehlo.and %and_19b0, %not_b8c3 : tensor<i1>
      %or = stablehlo.or %compare_26c2, %carry_1f1b : tensor<i1>
      %c_3.5 = stablehlo.constant dense<3.500000e+00> : tensor<f32>
      %c_1_11fd = stablehlo.constant dense<1> : tensor<i32>
      %call_cd82 = func.call @select_4320c5(%and_7943, %c_3.5, %c_1_11fd) : (tensor<i1>, tensor<f32>, tensor<i32>) -> tensor<f32>
      %c_0.25 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
      %call_baaf = func.call @select_4f9a10(%or, %call_cd82, %c_0.25) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %multiply_20e6 = stablehlo.multiply %call_baaf, %carry_ec62 : tensor<f32>
      %c_1_d3b9 = stablehlo.constant dense<1> : tensor<i32>
      %add_3beb = stablehlo.add %carry_fa9f, %c_1_d3b9 : tensor<i32>
      %c_1_a758 = stablehlo.constant dense<1> : tensor<i32>
      %c_0_e328 = stablehlo.constant dense<0> : tensor<i32>
      %call_7c16 = func.call @select_eb84ca(%or, %c_1_a758, %c_0_e328) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      %add_6828 = stablehlo.add %carry_a886, %call_7c16 : tensor<i32>
      %c_1_e40c = stablehlo.constant dense<1> : tensor<i32>
      %add_b12b = stablehlo.add %carry_0db8, %c_1_e40c : tensor<i32>
      %c_0_ca30 = stablehlo.constant dense<0> : tensor<i32>
      %call_da71 = func.call @select_eb84ca(%or, %c_0_ca30, %add_b12b) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      %convert_800e = stablehlo.convert %or : (tensor<i1>) -> tensor<i32>
      %case:10 = "stablehlo.case"(%convert_800e) ({
        %c_false_e6ab = stablehlo.constant dense<false> : tensor<i1>
        stablehlo.return %carry_e33b, %carry_b2ce, %carry_c3e7, %carry_00ec, %carry_9b29, %carry_f7d0, %carry_5919, %carry_6b53, %carry_373f, %c_false_e6ab : tensor<3xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<i1>
      }, {
        %subtract_2e01 = stablehlo.subtract %carry_ad34, %carry_e33b : tensor<3xf32>
        %subtract_b04c = stablehlo.subtract %subtract_a756, %carry_b2ce : tensor<16xf32>
        %abs_d2c9 = stablehlo.abs %carry_ad34 : tensor<3xf32>
        %c_1e-05_33aa = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
        %broadcast_in_dim_9323 = stablehlo.broadcast_in_dim %c_1e-05_33aa, dims = [] : (tensor<f32>) -> tensor<3xf32>
        %multiply_6baa = stablehlo.multiply %broadcast_in_dim_9323, %abs_d2c9 : tensor<3xf32>
        %c_1e-05_e08e = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
        %broadcast_in_dim_5674 = stablehlo.broadcast_in_dim %c_1e-05_e08e, dims = [] : (tensor<f32>) -> tensor<3xf32>
        %add_2b8f = stablehlo.add %broadcast_in_dim_5674, %multiply_6baa : tensor<3xf32>
        %abs_319b = stablehlo.abs %subtract_a756 : tensor<16xf32>
        %c_1e-05_de36 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
        %broadcast_in_dim_28d3 = stablehlo.broadcast_in_dim %c_1e-05_de36, dims = [] : (tensor<f32>) -> tensor<16xf32>
        %multiply_0c7b = stablehlo.multiply %broadcast_in_dim_28d3, %abs_319b : tensor<16xf32>
        %c_1e-05_3eaf = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
        %broadcast_in_dim_86de = stablehlo.broadcast_in_dim %c_1e-05_3eaf, dims = [] : (tensor<f32>) -> tensor<16xf32>
        %add_d14d = stablehlo.add %broadcast_in_dim_86de, %multiply_0c7b : tensor<16xf32>
        %abs_af15 = stablehlo.abs %subtract_2e01 : tensor<3xf32>
        %divide_e603 = stablehlo.divide %abs_af15, %add_2b8f : tensor<3xf32>
        %abs_fbd5 = stablehlo.abs %divide_e603 : tensor<3xf32>
        %c_0xFF800000_60ef = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %reduce_maximum_65d3 = stablehlo.reduce(%abs_fbd5 init: %c_0xFF800000_60ef) applies stablehlo.maximum across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
        %c_1_ce92 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
        %compare_2e84 = stablehlo.compare LT, %reduce_maximum_65d3, %c_1_ce92, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %abs_a39e = stablehlo.abs %subtract_b04c : tensor<16xf32>
        %divide_c194 = stablehlo.divide %abs_a39e, %add_d14d : tensor<16xf32>
        %abs_109b = stablehlo.abs %divide_c194 : tensor<16xf32>
        %c_0xFF800000_874f = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %reduce_maximum_49ed = stablehlo.reduce(%abs_109b init: %c_0xFF800000_874f) applies stablehlo.maximum across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
        %c_1_fc54 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
        %compare_785c = stablehlo.compare LT, %reduce_maximum_49ed, %c_1_fc54, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %and_789f = stablehlo.and %compare_2e84, %compare_785c : tensor<i1>
        stablehlo.return %carry_ad34, %subtract_a756, %carry_cb6f, %exponential, %reshape_8d61, %subtract_a756, %carry_cb6f, %exponential, %reshape_8d61, %and_789f : tensor<3xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<i1>
      }) : (tensor<i32>) -> (tensor<3xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<i1>)
      %dot_general_2daa = stablehlo.dot_general %subtract_a756, %subtract_a756, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
      %c_0.5_1dd0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %multiply_f118 = stablehlo.multiply %c_0.5_1dd0, %dot_general_2daa : tensor<f32>
      %dot_general_a580 = stablehlo.dot_general %carry_b2ce, %carry_b2ce, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
      %c_0.5_9784 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %multiply_424f = stablehlo.multiply %c_0.5_9784, %dot_general_a580 : tensor<f32>
      %convert_91bc = stablehlo.convert %multiply_20e6 : tensor<f32>
      %c_1.19209e-07 = stablehlo.constant dense<1.1920929E-7> : tensor<f32>
      %compare_1b07 = stablehlo.compare GT, %convert_91bc, %c_1.19209e-07, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %c_1_fdbc = stablehlo.constant dense<1> : tensor<i32>
      %call_bbdd = func.call @select_4320c5(%compare_1b07, %multiply_20e6, %c_1_fdbc) : (tensor<i1>, tensor<f32>, tensor<i32>) -> tensor<f32>
      %c_1_fdf5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %divide_811a = stablehlo.divide %c_1_fdf5, %call_bbdd : tensor<f32>
      %c_3.40282e38 = stablehlo.constant dense<3.40282347E+38> : tensor<f32>
      %call_1c2f = func.call @select_3560ea(%compare_1b07, %divide_811a, %c_3.40282e38) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %c_0_fbc5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %broadcast_in_dim_89be = stablehlo.broadcast_in_dim %c_0_fbc5, dims = [] : (tensor<f32>) -> tensor<3xf32>
      %call_9033:5 = func.call @constant_91fae5(%case#6, %case#7, %case#8, %call_1c2f, %case#5, %broadcast_in_dim_89be) : (tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<f32>, tensor<16xf32>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>, tensor<i32>, tensor<19x3xf32>, tensor<3xf32>)
      %c_0_fe0b = stablehlo.constant dense<0> : tensor<i32>
      %compare_e6d5 = stablehlo.compare LT, %call_9033#2, %c_0_fe0b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %add_6b31 = stablehlo.add %call_9033#2, %carry_2d01 : tensor<i32>
      %select = stablehlo.select %compare_e6d5, %add_6b31, %call_9033#2 : tensor<i1>, tensor<i32>
      %dynamic_slice = stablehlo.dynamic_slice %carry_238c, %select, sizes = [1] : (tensor<7xi32>, tensor<i32>) -> tensor<1xi32>
      %reshape_1ab6 = stablehlo.reshape %dynamic_slice : (tensor<1xi32>) -> tensor<i32>
      %negate_d7c4 = stablehlo.negate %call_9033#1 : tensor<3xf32>
      %add_9d5c = stablehlo.add %case#0, %negate_d7c4 : tensor<3xf32>
      %c_0_1171 = stablehlo.constant dense<0> : tensor<i32>
      %call_20fb = func.call @select_eb84ca(%carry_1fea, %reshape_1ab6, %c_0_1171) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      %is_finite_aa6f = stablehlo.is_finite %carry_e33b : (tensor<3xf32>) -> tensor<3xi1>
      %c_true_4aca = stablehlo.constant dense<true> : tensor<i1>
      %reduce_and_52a3 = stablehlo.reduce(%is_finite_aa6f init: %c_true_4aca) applies stablehlo.and across dimensions = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
      %c_true_5cc9 = stablehlo.constant dense<true> : tensor<i1>
      %and_c583 = stablehlo.and %c_true_5cc9, %reduce_and_52a3 : tensor<i1>
      %c_9_36c4 = stablehlo.constant dense<9> : tensor<i32>
      %call_71d7 = func.call @select_eb84ca(%and_c583, %call_20fb, %c_9_36c4) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      %c_1_6201 = stablehlo.constant dense<1> : tensor<i32>
      %add_71a7 = stablehlo.add %carry_7028, %c_1_6201 : tensor<i32>
      %c_false_de65 = stablehlo.constant dense<false> : tensor<i1>
      %c_1_933b = stablehlo.constant dense<1> : tensor<i32>
      %add_27e2 = stablehlo.add %carry_196c, %c_1_933b : tensor<i32>
      %not_88c7 = stablehlo.not %case#9 : tensor<i1>
      %c_0_0f72 = stablehlo.constant dense<0> : tensor<i32>
      %compare_2d7a = stablehlo.compare EQ, %call_71d7, %c_0_0f72, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %and_7f44 = stablehlo.and %not_88c7, %compare_2d7a : tensor<i1>
      %and_30df = stablehlo.and %carry_3981, %and_7f44 : tensor<i1>
      stablehlo.return %carry_cb6f, %carry_0091, %carry_2d01, %carry_238c, %carry_1fea, %add_27e2, %and_30df, %carry_3981, %case#0, %add_71a7, %c_false_de65, %add_9d5c, %multiply_20e6, %case#1, %case#2, %case#3, %case#4, %case#5, %case#6, %case#7, %case#8, %case#9, %call_20fb, %add_3beb, %add_6828, %call_da71, %case#9, %call_71d7 : tensor<16xf32>, tensor<16xf32>, tensor<i32>, tensor<7xi32>, tensor<i1>, tensor<i32>, tensor<i1>, tensor<i1>, tensor<3xf32>, tensor<i32>, tensor<i1>, tensor<3xf32>, tensor<f32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>
    }
    %c_0_24f7 = stablehlo.constant dense<0> : tensor<i32>
    %compare_ebf5 = stablehlo.compare EQ, %while#27, %c_0_24f7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %not_b20d = stablehlo.not %while#26 : tensor<i1>
    %and_44c3 = stablehlo.and %compare_ebf5, %not_b20d : tensor<i1>
    %c_7_596b = stablehlo.constant dense<7> : tensor<i32>
    %call_12ec = call @select_eb84ca(%and_44c3, %c_7_596b, %while#27) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %c_0_294d = stablehlo.constant dense<0> : tensor<i32>
    %compare_1ed5 = stablehlo.compare NE, %call_12ec, %c_0_294d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %call_9281 = call @case_d98438(%while#8, %call_12ec, %while#9, %while#10, %while#11, %while#12, %while#13, %while#14, %while#15, %while#16, %while#17, %while#18, %while#19, %while#20, %while#21, %while#22, %while#23, %while#24, %while#25, %compare_1ed5, %call_12ec) : (tensor<3xf32>, tensor<i32>, tensor<i32>, tensor<i1>, tensor<3xf32>, tensor<f32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>) -> tensor<3xf32>
    return %call_9281 : tensor<3xf32>
  }
  func.func private @select_eb84ca(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %select = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %select : tensor<i32>
  }
  func.func private @case_d98438(%arg0: tensor<3xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<i1>, %arg4: tensor<3xf32>, %arg5: tensor<f32>, %arg6: tensor<16xf32>, %arg7: tensor<16xf32>, %arg8: tensor<16xf32>, %arg9: tensor<f32>, %arg10: tensor<16xf32>, %arg11: tensor<16xf32>, %arg12: tensor<16xf32>, %arg13: tensor<f32>, %arg14: tensor<i1>, %arg15: tensor<i32>, %arg16: tensor<i32>, %arg17: tensor<i32>, %arg18: tensor<i32>, %arg19: tensor<i1>, %arg20: tensor<i32>) -> tensor<3xf32> {
    %c_0x7FC00000_1780 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_e9cb = stablehlo.broadcast_in_dim %c_0x7FC00000_1780, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %c_0x7FC00000_7b3c_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_c13d_1 = stablehlo.broadcast_in_dim %c_0x7FC00000_7b3c_1, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %c_0x7FC00000_7b3c_2 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_c13d_2 = stablehlo.broadcast_in_dim %c_0x7FC00000_7b3c_2, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0x7FC00000_7b3c_3 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_c13d_3 = stablehlo.broadcast_in_dim %c_0x7FC00000_7b3c_3, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0x7FC00000_7b3c_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_c13d_4 = stablehlo.broadcast_in_dim %c_0x7FC00000_7b3c_4, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0x7FC00000_7b3c_5 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_c13d_5 = stablehlo.broadcast_in_dim %c_0x7FC00000_7b3c_5, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0x7FC00000_7b3c_6 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_c13d_6 = stablehlo.broadcast_in_dim %c_0x7FC00000_7b3c_6, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_0x7FC00000_7b3c_7 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %broadcast_in_dim_c13d_7 = stablehlo.broadcast_in_dim %c_0x7FC00000_7b3c_7, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %c_false = stablehlo.constant dense<false> : tensor<i1>
    %reduce_or = stablehlo.reduce(%arg19 init: %c_false) applies stablehlo.or across dimensions = [] : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %c_-2.14748e09 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %reduce_maximum = stablehlo.reduce(%arg20 init: %c_-2.14748e09) applies stablehlo.maximum across dimensions = [] : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %convert = stablehlo.convert %reduce_or : (tensor<i1>) -> tensor<i32>
    %case = "stablehlo.case"(%convert) ({
      stablehlo.return %arg0 : tensor<3xf32>
    }, {
      stablehlo.return %broadcast_in_dim_e9cb : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    return %case : tensor<3xf32>
  }
  func.func private @select_4320c5(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<i32>) -> tensor<f32> {
    %convert = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %select = stablehlo.select %arg0, %arg1, %convert : tensor<i1>, tensor<f32>
    return %select : tensor<f32>
  }
  func.func private @select_4f9a10(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %select = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<f32>
    return %select : tensor<f32>
  }
  func.func private @select_3560ea(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %convert = stablehlo.convert %arg1 : tensor<f32>
    %select = stablehlo.select %arg0, %convert, %arg2 : tensor<i1>, tensor<f32>
    return %select : tensor<f32>
  }
  func.func private @constant_91fae5(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<16xf32>, %arg5: tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>, tensor<i32>, tensor<19x3xf32>, tensor<3xf32>) {
    %iota_28dc = stablehlo.iota dim = 0 : tensor<3x3xi32>
    %iota_f680 = stablehlo.iota dim = 1 : tensor<3x3xi32>
    %c_0_be58 = stablehlo.constant dense<0> : tensor<i32>
    %broadcast_in_dim_affc = stablehlo.broadcast_in_dim %c_0_be58, dims = [] : (tensor<i32>) -> tensor<3x3xi32>
    %add_e30e = stablehlo.add %iota_28dc, %broadcast_in_dim_affc : tensor<3x3xi32>
    %compare_3856 = stablehlo.compare EQ, %add_e30e, %iota_f680, SIGNED : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
    %convert_6df5 = stablehlo.convert %compare_3856 : (tensor<3x3xi1>) -> tensor<3x3xf32>
    %slice_e519 = stablehlo.slice %convert_6df5 [0:3, 0:3] : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %slice_622c = stablehlo.slice %slice_e519 [0:3, 0:1] : (tensor<3x3xf32>) -> tensor<3x1xf32>
    %reshape_f8e9 = stablehlo.reshape %slice_622c : (tensor<3x1xf32>) -> tensor<3xf32>
    %slice_1e53 = stablehlo.slice %slice_e519 [0:3, 1:2] : (tensor<3x3xf32>) -> tensor<3x1xf32>
    %reshape_caf7 = stablehlo.reshape %slice_1e53 : (tensor<3x1xf32>) -> tensor<3xf32>
    %slice_a254 = stablehlo.slice %slice_e519 [0:3, 2:3] : (tensor<3x3xf32>) -> tensor<3x1xf32>
    %reshape_c0f4 = stablehlo.reshape %slice_a254 : (tensor<3x1xf32>) -> tensor<3xf32>
    %negate = stablehlo.negate %reshape_caf7 : tensor<3xf32>
    %broadcast_in_dim_8cde = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %broadcast_in_dim_6589 = stablehlo.broadcast_in_dim %negate, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %broadcast_in_dim_20ef = stablehlo.broadcast_in_dim %broadcast_in_dim_6589, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x16xf32>
    %broadcast_in_dim_edea = stablehlo.broadcast_in_dim %broadcast_in_dim_8cde, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<3x16xf32>
    %multiply_b175 = stablehlo.multiply %broadcast_in_dim_20ef, %broadcast_in_dim_edea : tensor<3x16xf32>
    %broadcast_in_dim_a14c = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %broadcast_in_dim_24d0 = stablehlo.broadcast_in_dim %broadcast_in_dim_a14c, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<3x16xf32>
    %multiply_88ee = stablehlo.multiply %multiply_b175, %broadcast_in_dim_24d0 : tensor<3x16xf32>
    %broadcast_in_dim_8de1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %broadcast_in_dim_3636 = stablehlo.broadcast_in_dim %reshape_f8e9, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %broadcast_in_dim_7bfd = stablehlo.broadcast_in_dim %broadcast_in_dim_3636, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x16xf32>
    %broadcast_in_dim_fbeb = stablehlo.broadcast_in_dim %broadcast_in_dim_8de1, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<3x16xf32>
    %multiply_b474 = stablehlo.multiply %broadcast_in_dim_7bfd, %broadcast_in_dim_fbeb : tensor<3x16xf32>
    %broadcast_in_dim_788d = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<3x16xf32>
    %multiply_4060 = stablehlo.multiply %broadcast_in_dim_788d, %multiply_88ee : tensor<3x16xf32>
    %add_4115 = stablehlo.add %multiply_b474, %multiply_4060 : tensor<3x16xf32>
    %broadcast_in_dim_f705 = stablehlo.broadcast_in_dim %reshape_c0f4, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %broadcast_in_dim_6455 = stablehlo.broadcast_in_dim %broadcast_in_dim_f705, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x16xf32>
    %add_98b0 = stablehlo.add %add_4115, %broadcast_in_dim_6455 : tensor<3x16xf32>
    %sqrt = stablehlo.sqrt %arg3 : tensor<f32>
    %broadcast_in_dim_adb0 = stablehlo.broadcast_in_dim %sqrt, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %multiply_cdb4 = stablehlo.multiply %broadcast_in_dim_adb0, %slice_e519 : tensor<3x3xf32>
    %transpose_fa88 = stablehlo.transpose %add_98b0, dims = [1, 0] : (tensor<3x16xf32>) -> tensor<16x3xf32>
    %transpose_7d79 = stablehlo.transpose %multiply_cdb4, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %slice_e224 = stablehlo.slice %transpose_fa88 [0:16, 0:3] : (tensor<16x3xf32>) -> tensor<16x3xf32>
    %slice_96ac = stablehlo.slice %transpose_7d79 [0:3, 0:3] : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %concatenate_4084 = stablehlo.concatenate %slice_e224, %slice_96ac, dim = 0 : (tensor<16x3xf32>, tensor<3x3xf32>) -> tensor<19x3xf32>
    %call_01d4:2 = call @transpose_f159d3(%concatenate_4084) : (tensor<19x3xf32>) -> (tensor<3x19xf32>, tensor<3xf32>)
    %transpose_a56c = stablehlo.transpose %call_01d4#0, dims = [1, 0] : (tensor<3x19xf32>) -> tensor<19x3xf32>
    %c_true = stablehlo.constant dense<true> : tensor<i1>
    %concatenate_c737 = stablehlo.concatenate %arg4, %arg5, dim = 0 : (tensor<16xf32>, tensor<3xf32>) -> tensor<19xf32>
    %slice_96d7 = stablehlo.slice %transpose_a56c [0:3, 0:3] : (tensor<19x3xf32>) -> tensor<3x3xf32>
    %broadcast_in_dim_9cf4 = stablehlo.broadcast_in_dim %concatenate_c737, dims = [0] : (tensor<19xf32>) -> tensor<19x1xf32>
    %iota_272a = stablehlo.iota dim = 0 : tensor<19x3xi32>
    %c_0_328d = stablehlo.constant dense<0> : tensor<i32>
    %broadcast_in_dim_beec = stablehlo.broadcast_in_dim %c_0_328d, dims = [] : (tensor<i32>) -> tensor<19x3xi32>
    %add_a60c = stablehlo.add %iota_272a, %broadcast_in_dim_beec : tensor<19x3xi32>
    %iota_cda7 = stablehlo.iota dim = 1 : tensor<19x3xi32>
    %compare_b109 = stablehlo.compare EQ, %add_a60c, %iota_cda7, SIGNED : (tensor<19x3xi32>, tensor<19x3xi32>) -> tensor<19x3xi1>
    %convert_76fd = stablehlo.convert %compare_b109 : (tensor<19x3xi1>) -> tensor<19x3xf32>
    %iota_6fec = stablehlo.iota dim = 0 : tensor<19x3xi32>
    %c_-1 = stablehlo.constant dense<-1> : tensor<i32>
    %broadcast_in_dim_39dc = stablehlo.broadcast_in_dim %c_-1, dims = [] : (tensor<i32>) -> tensor<19x3xi32>
    %add_fba3 = stablehlo.add %iota_6fec, %broadcast_in_dim_39dc : tensor<19x3xi32>
    %iota_9603 = stablehlo.iota dim = 1 : tensor<19x3xi32>
    %compare_1f93 = stablehlo.compare GE, %add_fba3, %iota_9603, SIGNED : (tensor<19x3xi32>, tensor<19x3xi32>) -> tensor<19x3xi1>
    %c_0_78a8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %broadcast_in_dim_52a4 = stablehlo.broadcast_in_dim %c_0_78a8, dims = [] : (tensor<f32>) -> tensor<19x3xf32>
    %select = stablehlo.select %compare_1f93, %transpose_a56c, %broadcast_in_dim_52a4 : tensor<19x3xi1>, tensor<19x3xf32>
    %add_bc5f = stablehlo.add %select, %convert_76fd : tensor<19x3xf32>
    %c_0_baf0 = stablehlo.constant dense<0> : tensor<i32>
    %c_0_a880 = stablehlo.constant dense<0> : tensor<i32>
    %while:5 = stablehlo.while(%carry_2d74 = %call_01d4#1, %carry_dffb = %add_bc5f, %carry_cf89 = %c_0_a880, %carry_777f = %c_0_baf0, %carry_4028 = %broadcast_in_dim_9cf4) : tensor<3xf32>, tensor<19x3xf32>, tensor<i32>, tensor<i32>, tensor<19x1xf32>
    cond {
      %c_3 = stablehlo.constant dense<3> : tensor<i32>
      %compare_b9cb = stablehlo.compare LT, %carry_cf89, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %compare_b9cb : tensor<i1>
    } do {
      %call_8c19:2 = func.call @add_1e167e(%carry_2d74, %carry_dffb, %carry_777f, %carry_4028) : (tensor<3xf32>, tensor<19x3xf32>, tensor<i32>, tensor<19x1xf32>) -> (tensor<i32>, tensor<19x1xf32>)
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %add_6b5c = stablehlo.add %carry_cf89, %c_1 : tensor<i32>
      stablehlo.return %carry_2d74, %carry_dffb, %add_6b5c, %call_8c19#0, %call_8c19#1 : tensor<3xf32>, tensor<19x3xf32>, tensor<i32>, tensor<i32>, tensor<19x1xf32>
    }
    %slice_daa7 = stablehlo.slice %while#4 [0:3, 0:1] : (tensor<19x1xf32>) -> tensor<3x1xf32>
    %reshape_e9dc = stablehlo.reshape %slice_daa7 : (tensor<3x1xf32>) -> tensor<3xf32>
    %call_11f3 = call @reshape_2a13c2(%slice_96d7, %reshape_e9dc) : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %slice_d969 = stablehlo.slice %call_11f3 [0:3] : (tensor<3xf32>) -> tensor<3xf32>
    %is_finite_55fc = stablehlo.is_finite %slice_d969 : (tensor<3xf32>) -> tensor<3xi1>
    %not_f213 = stablehlo.not %is_finite_55fc : tensor<3xi1>
    %c_false_3a9e = stablehlo.constant dense<false> : tensor<i1>
    %reduce_or_7e67 = stablehlo.reduce(%not_f213 init: %c_false_3a9e) applies stablehlo.or across dimensions = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
    %broadcast_in_dim_4464 = stablehlo.broadcast_in_dim %reduce_or_7e67, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %c_false_c1da = stablehlo.constant dense<false> : tensor<i1>
    %reduce_or_933f = stablehlo.reduce(%broadcast_in_dim_4464 init: %c_false_c1da) applies stablehlo.or across dimensions = [0] : (tensor<1xi1>, tensor<i1>) -> tensor<i1>
    %and_74b2 = stablehlo.and %c_true, %reduce_or_933f : tensor<i1>
    %c_2_abbe = stablehlo.constant dense<2> : tensor<i32>
    %c_0_44bc = stablehlo.constant dense<0> : tensor<i32>
    %call_a2cb = call @select_eb84ca(%and_74b2, %c_2_abbe, %c_0_44bc) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %is_finite_6483 = stablehlo.is_finite %arg4 : (tensor<16xf32>) -> tensor<16xi1>
    %not_c771 = stablehlo.not %is_finite_6483 : tensor<16xi1>
    %c_false_1092 = stablehlo.constant dense<false> : tensor<i1>
    %reduce_or_9b91 = stablehlo.reduce(%not_c771 init: %c_false_1092) applies stablehlo.or across dimensions = [0] : (tensor<16xi1>, tensor<i1>) -> tensor<i1>
    %is_finite_3e89 = stablehlo.is_finite %arg5 : (tensor<3xf32>) -> tensor<3xi1>
    %not_8a64 = stablehlo.not %is_finite_3e89 : tensor<3xi1>
    %c_false_9897 = stablehlo.constant dense<false> : tensor<i1>
    %reduce_or_0f36 = stablehlo.reduce(%not_8a64 init: %c_false_9897) applies stablehlo.or across dimensions = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
    %broadcast_in_dim_8ba8 = stablehlo.broadcast_in_dim %reduce_or_9b91, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %broadcast_in_dim_f8c1 = stablehlo.broadcast_in_dim %reduce_or_0f36, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %concatenate_7b95 = stablehlo.concatenate %broadcast_in_dim_8ba8, %broadcast_in_dim_f8c1, dim = 0 : (tensor<1xi1>, tensor<1xi1>) -> tensor<2xi1>
    %c_false_c812 = stablehlo.constant dense<false> : tensor<i1>
    %reduce_or_3a78 = stablehlo.reduce(%concatenate_7b95 init: %c_false_c812) applies stablehlo.or across dimensions = [0] : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
    %c_2_6d23 = stablehlo.constant dense<2> : tensor<i32>
    %compare_6cf3 = stablehlo.compare EQ, %call_a2cb, %c_2_6d23, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %and_bf01 = stablehlo.and %compare_6cf3, %reduce_or_3a78 : tensor<i1>
    %c_6 = stablehlo.constant dense<6> : tensor<i32>
    %call_61ad = call @select_eb84ca(%and_bf01, %c_6, %call_a2cb) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %c_0_d948 = stablehlo.constant dense<0> : tensor<i32>
    return %c_0_d948, %slice_d969, %call_61ad, %transpose_a56c, %call_01d4#1 : tensor<i32>, tensor<3xf32>, tensor<i32>, tensor<19x3xf32>, tensor<3xf32>
  }
  func.func private @transpose_f159d3(%arg0: tensor<19x3xf32>) -> (tensor<3x19xf32>, tensor<3xf32>) {
    %Qr:2 = stablehlo.custom_call @Qr(%arg0) {backend_config = ""} : (tensor<19x3xf32>) -> (tensor<19x3xf32>, tensor<3xf32>)
    %transpose = stablehlo.transpose %Qr#0, dims = [1, 0] : (tensor<19x3xf32>) -> tensor<3x19xf32>
    return %transpose, %Qr#1 : tensor<3x19xf32>, tensor<3xf32>
  }
  func.func private @reshape_2a13c2(%arg0: tensor<3x3xf32>, %arg1: tensor<3xf32>) -> tensor<3xf32> {
    %broadcast_in_dim = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %triangular_solve = "stablehlo.triangular_solve"(%arg0, %broadcast_in_dim) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
    %reshape = stablehlo.reshape %triangular_solve : (tensor<3x1xf32>) -> tensor<3xf32>
    return %reshape : tensor<3xf32>
  }
  func.func private @add_1e167e(%arg0: tensor<3xf32>, %arg1: tensor<19x3xf32>, %arg2: tensor<i32>, %arg3: tensor<19x1xf32>) -> (tensor<i32>, tensor<19x1xf32>) {
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %add_6291 = stablehlo.add %arg2, %c_1 : tensor<i32>
    %c_0_964d = stablehlo.constant dense<0> : tensor<i32>
    %compare_d0ba = stablehlo.compare LT, %arg2, %c_0_964d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %convert_502c = stablehlo.convert %arg2 : tensor<i32>
    %c_3_c044 = stablehlo.constant dense<3> : tensor<i32>
    %add_f92c = stablehlo.add %convert_502c, %c_3_c044 : tensor<i32>
    %select_13cc = stablehlo.select %compare_d0ba, %add_f92c, %arg2 : tensor<i1>, tensor<i32>
    %dynamic_slice_3d0e = stablehlo.dynamic_slice %arg0, %select_13cc, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>
    %reshape_da4c = stablehlo.reshape %dynamic_slice_3d0e : (tensor<1xf32>) -> tensor<f32>
    %convert_1475 = stablehlo.convert %arg2 : tensor<i32>
    %c_0_1e9c = stablehlo.constant dense<0> : tensor<i32>
    %c_0_bb67 = stablehlo.constant dense<0> : tensor<i32>
    %compare_8c89 = stablehlo.compare LT, %c_0_1e9c, %c_0_bb67, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0_731e = stablehlo.constant dense<0> : tensor<i32>
    %c_19 = stablehlo.constant dense<19> : tensor<i32>
    %add_6f1c = stablehlo.add %c_0_731e, %c_19 : tensor<i32>
    %c_0_8cb4 = stablehlo.constant dense<0> : tensor<i32>
    %select_72de = stablehlo.select %compare_8c89, %add_6f1c, %c_0_8cb4 : tensor<i1>, tensor<i32>
    %c_0_1cd1 = stablehlo.constant dense<0> : tensor<i32>
    %compare_3e84 = stablehlo.compare LT, %convert_1475, %c_0_1cd1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_3_7f9f = stablehlo.constant dense<3> : tensor<i32>
    %add_72cb = stablehlo.add %convert_1475, %c_3_7f9f : tensor<i32>
    %select_9668 = stablehlo.select %compare_3e84, %add_72cb, %convert_1475 : tensor<i1>, tensor<i32>
    %dynamic_slice_34f1 = stablehlo.dynamic_slice %arg1, %select_72de, %select_9668, sizes = [19, 1] : (tensor<19x3xf32>, tensor<i32>, tensor<i32>) -> tensor<19x1xf32>
    %reshape_2aad = stablehlo.reshape %dynamic_slice_34f1 : (tensor<19x1xf32>) -> tensor<19xf32>
    %broadcast_in_dim_9269 = stablehlo.broadcast_in_dim %reshape_da4c, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
    %dot_general = stablehlo.dot_general %reshape_2aad, %arg3, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<19xf32>, tensor<19x1xf32>) -> tensor<1xf32>
    %broadcast_in_dim_07f8 = stablehlo.broadcast_in_dim %reshape_2aad, dims = [0] : (tensor<19xf32>) -> tensor<19x1xf32>
    %broadcast_in_dim_a969 = stablehlo.broadcast_in_dim %dot_general, dims = [1] : (tensor<1xf32>) -> tensor<1x1xf32>
    %broadcast_in_dim_6c90 = stablehlo.broadcast_in_dim %broadcast_in_dim_a969, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<19x1xf32>
    %multiply_22d6 = stablehlo.multiply %broadcast_in_dim_07f8, %broadcast_in_dim_6c90 : tensor<19x1xf32>
    %broadcast_in_dim_3487 = stablehlo.broadcast_in_dim %broadcast_in_dim_9269, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<19x1xf32>
    %multiply_d8c2 = stablehlo.multiply %broadcast_in_dim_3487, %multiply_22d6 : tensor<19x1xf32>
    %subtract = stablehlo.subtract %arg3, %multiply_d8c2 : tensor<19x1xf32>
    return %add_6291, %subtract : tensor<i32>, tensor<19x1xf32>
  }
}
