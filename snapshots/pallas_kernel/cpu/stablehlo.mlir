module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x128xf32>, %arg1: tensor<256x128xf32>) -> tensor<256x128xf32> {
    %c_0_c51f = stablehlo.constant dense<0> : tensor<i32>
    %case_4845 = "stablehlo.case"(%c_0_c51f) ({
      %c_0_0adc_1 = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c_0_0adc_1 : tensor<i32>
    }, {
      %c_0_0adc_2 = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c_0_0adc_2 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %case_1e24 = "stablehlo.case"(%case_4845) ({
      %c_0x7FC00000 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %broadcast_in_dim_6e67 = stablehlo.broadcast_in_dim %c_0x7FC00000, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
      %c_0_27e8 = stablehlo.constant dense<0> : tensor<i32>
      %c_0_7a1b = stablehlo.constant dense<0> : tensor<i32>
      %while:5 = stablehlo.while(%carry_cf89 = %c_0_27e8, %carry_abfb = %c_0_7a1b, %carry_23e3 = %arg0, %carry_5217 = %arg1, %carry_7310 = %broadcast_in_dim_6e67) : tensor<i32>, tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>
      cond {
        %c_2_6ddf = stablehlo.constant dense<2> : tensor<i32>
        %compare_739d = stablehlo.compare LT, %carry_cf89, %c_2_6ddf, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %compare_739d : tensor<i1>
      } do {
        %c_128_e29a = stablehlo.constant dense<128> : tensor<i32>
        %multiply_49fe = stablehlo.multiply %c_128_e29a, %carry_abfb : tensor<i32>
        %c_128_edf0 = stablehlo.constant dense<128> : tensor<i32>
        %multiply_a83f = stablehlo.multiply %c_128_edf0, %carry_abfb : tensor<i32>
        %c_128_20b9 = stablehlo.constant dense<128> : tensor<i32>
        %multiply_387c = stablehlo.multiply %c_128_20b9, %carry_abfb : tensor<i32>
        %c_0_af47 = stablehlo.constant dense<0> : tensor<i32>
        %compare_22dd = stablehlo.compare LT, %multiply_49fe, %c_0_af47, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_256_b960 = stablehlo.constant dense<256> : tensor<i32>
        %add_a0d1 = stablehlo.add %multiply_49fe, %c_256_b960 : tensor<i32>
        %select_ab91 = stablehlo.select %compare_22dd, %add_a0d1, %multiply_49fe : tensor<i1>, tensor<i32>
        %c_0_1e9c = stablehlo.constant dense<0> : tensor<i32>
        %c_0_68b8 = stablehlo.constant dense<0> : tensor<i32>
        %compare_dda3 = stablehlo.compare LT, %c_0_1e9c, %c_0_68b8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_0_83ee = stablehlo.constant dense<0> : tensor<i32>
        %c_128_f3a0 = stablehlo.constant dense<128> : tensor<i32>
        %add_61bf = stablehlo.add %c_0_83ee, %c_128_f3a0 : tensor<i32>
        %c_0_2a40 = stablehlo.constant dense<0> : tensor<i32>
        %select_456f = stablehlo.select %compare_dda3, %add_61bf, %c_0_2a40 : tensor<i1>, tensor<i32>
        %dynamic_slice_bd26 = stablehlo.dynamic_slice %carry_23e3, %select_ab91, %select_456f, sizes = [128, 128] : (tensor<256x128xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %c_0_b29c = stablehlo.constant dense<0> : tensor<i32>
        %compare_d9b2 = stablehlo.compare LT, %multiply_a83f, %c_0_b29c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_256_f09e = stablehlo.constant dense<256> : tensor<i32>
        %add_d43e = stablehlo.add %multiply_a83f, %c_256_f09e : tensor<i32>
        %select_3f5a = stablehlo.select %compare_d9b2, %add_d43e, %multiply_a83f : tensor<i1>, tensor<i32>
        %c_0_1c99 = stablehlo.constant dense<0> : tensor<i32>
        %c_0_391b = stablehlo.constant dense<0> : tensor<i32>
        %compare_8a01 = stablehlo.compare LT, %c_0_1c99, %c_0_391b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_0_00b2 = stablehlo.constant dense<0> : tensor<i32>
        %c_128_e247 = stablehlo.constant dense<128> : tensor<i32>
        %add_b641 = stablehlo.add %c_0_00b2, %c_128_e247 : tensor<i32>
        %c_0_f802 = stablehlo.constant dense<0> : tensor<i32>
        %select_9798 = stablehlo.select %compare_8a01, %add_b641, %c_0_f802 : tensor<i1>, tensor<i32>
        %dynamic_slice_4154 = stablehlo.dynamic_slice %carry_5217, %select_3f5a, %select_9798, sizes = [128, 128] : (tensor<256x128xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %c_0_afbf = stablehlo.constant dense<0> : tensor<i32>
        %compare_7593 = stablehlo.compare LT, %multiply_387c, %c_0_afbf, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_256_b3ea = stablehlo.constant dense<256> : tensor<i32>
        %add_d967 = stablehlo.add %multiply_387c, %c_256_b3ea : tensor<i32>
        %select_ac35 = stablehlo.select %compare_7593, %add_d967, %multiply_387c : tensor<i1>, tensor<i32>
        %c_0_d3e3 = stablehlo.constant dense<0> : tensor<i32>
        %c_0_cc4d = stablehlo.constant dense<0> : tensor<i32>
        %compare_a64b = stablehlo.compare LT, %c_0_d3e3, %c_0_cc4d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_0_fa92 = stablehlo.constant dense<0> : tensor<i32>
        %c_128_3038 = stablehlo.constant dense<128> : tensor<i32>
        %add_f2cf = stablehlo.add %c_0_fa92, %c_128_3038 : tensor<i32>
        %c_0_e933 = stablehlo.constant dense<0> : tensor<i32>
        %select_24a0 = stablehlo.select %compare_a64b, %add_f2cf, %c_0_e933 : tensor<i1>, tensor<i32>
        %dynamic_slice_b966 = stablehlo.dynamic_slice %carry_7310, %select_ac35, %select_24a0, sizes = [128, 128] : (tensor<256x128xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %negate = stablehlo.negate %dynamic_slice_bd26 : tensor<128x128xf32>
        %exponential = stablehlo.exponential %negate : tensor<128x128xf32>
        %c_1_5e32 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
        %broadcast_in_dim_329b = stablehlo.broadcast_in_dim %c_1_5e32, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
        %add_d228 = stablehlo.add %broadcast_in_dim_329b, %exponential : tensor<128x128xf32>
        %c_1_1c39 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
        %broadcast_in_dim_ff66 = stablehlo.broadcast_in_dim %c_1_1c39, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
        %divide = stablehlo.divide %broadcast_in_dim_ff66, %add_d228 : tensor<128x128xf32>
        %multiply_0b7f = stablehlo.multiply %dynamic_slice_bd26, %divide : tensor<128x128xf32>
        %add_eae8 = stablehlo.add %multiply_0b7f, %dynamic_slice_4154 : tensor<128x128xf32>
        %c_0_40da = stablehlo.constant dense<0> : tensor<i32>
        %compare_ebc0 = stablehlo.compare LT, %multiply_49fe, %c_0_40da, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_256_ac54 = stablehlo.constant dense<256> : tensor<i32>
        %add_742d = stablehlo.add %multiply_49fe, %c_256_ac54 : tensor<i32>
        %select_51d7 = stablehlo.select %compare_ebc0, %add_742d, %multiply_49fe : tensor<i1>, tensor<i32>
        %c_0_ef4e = stablehlo.constant dense<0> : tensor<i32>
        %c_0_ef70 = stablehlo.constant dense<0> : tensor<i32>
        %compare_0a18 = stablehlo.compare LT, %c_0_ef4e, %c_0_ef70, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_0_e085 = stablehlo.constant dense<0> : tensor<i32>
        %c_128_0100 = stablehlo.constant dense<128> : tensor<i32>
        %add_c468 = stablehlo.add %c_0_e085, %c_128_0100 : tensor<i32>
        %c_0_1aed = stablehlo.constant dense<0> : tensor<i32>
        %select_4d13 = stablehlo.select %compare_0a18, %add_c468, %c_0_1aed : tensor<i1>, tensor<i32>
        %dynamic_update_slice_aad7 = stablehlo.dynamic_update_slice %carry_23e3, %dynamic_slice_bd26, %select_51d7, %select_4d13 : (tensor<256x128xf32>, tensor<128x128xf32>, tensor<i32>, tensor<i32>) -> tensor<256x128xf32>
        %c_0_bfa8 = stablehlo.constant dense<0> : tensor<i32>
        %compare_cf30 = stablehlo.compare LT, %multiply_a83f, %c_0_bfa8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_256_c447 = stablehlo.constant dense<256> : tensor<i32>
        %add_5f14 = stablehlo.add %multiply_a83f, %c_256_c447 : tensor<i32>
        %select_e7d2 = stablehlo.select %compare_cf30, %add_5f14, %multiply_a83f : tensor<i1>, tensor<i32>
        %c_0_b300 = stablehlo.constant dense<0> : tensor<i32>
        %c_0_66e9 = stablehlo.constant dense<0> : tensor<i32>
        %compare_598c = stablehlo.compare LT, %c_0_b300, %c_0_66e9, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_0_d604 = stablehlo.constant dense<0> : tensor<i32>
        %c_128_0663 = stablehlo.constant dense<128> : tensor<i32>
        %add_388a = stablehlo.add %c_0_d604, %c_128_0663 : tensor<i32>
        %c_0_73ac = stablehlo.constant dense<0> : tensor<i32>
        %select_b7b7 = stablehlo.select %compare_598c, %add_388a, %c_0_73ac : tensor<i1>, tensor<i32>
        %dynamic_update_slice_14d2 = stablehlo.dynamic_update_slice %carry_5217, %dynamic_slice_4154, %select_e7d2, %select_b7b7 : (tensor<256x128xf32>, tensor<128x128xf32>, tensor<i32>, tensor<i32>) -> tensor<256x128xf32>
        %c_0_cd63 = stablehlo.constant dense<0> : tensor<i32>
        %compare_6eae = stablehlo.compare LT, %multiply_387c, %c_0_cd63, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_256_8e46 = stablehlo.constant dense<256> : tensor<i32>
        %add_d335 = stablehlo.add %multiply_387c, %c_256_8e46 : tensor<i32>
        %select_4c1f = stablehlo.select %compare_6eae, %add_d335, %multiply_387c : tensor<i1>, tensor<i32>
        %c_0_ad94 = stablehlo.constant dense<0> : tensor<i32>
        %c_0_438c = stablehlo.constant dense<0> : tensor<i32>
        %compare_10a3 = stablehlo.compare LT, %c_0_ad94, %c_0_438c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_0_427b = stablehlo.constant dense<0> : tensor<i32>
        %c_128_cc3f = stablehlo.constant dense<128> : tensor<i32>
        %add_69c0 = stablehlo.add %c_0_427b, %c_128_cc3f : tensor<i32>
        %c_0_88d7 = stablehlo.constant dense<0> : tensor<i32>
        %select_3150 = stablehlo.select %compare_10a3, %add_69c0, %c_0_88d7 : tensor<i1>, tensor<i32>
        %dynamic_update_slice_2c53 = stablehlo.dynamic_update_slice %carry_7310, %add_eae8, %select_4c1f, %select_3150 : (tensor<256x128xf32>, tensor<128x128xf32>, tensor<i32>, tensor<i32>) -> tensor<256x128xf32>
        %c_1_c88d = stablehlo.constant dense<1> : tensor<i32>
        %add_b169 = stablehlo.add %carry_cf89, %c_1_c88d : tensor<i32>
        %c_1_e456 = stablehlo.constant dense<1> : tensor<i32>
        %add_def5 = stablehlo.add %carry_abfb, %c_1_e456 : tensor<i32>
        %c_true = stablehlo.constant dense<true> : tensor<i1>
        %call_6f93 = func.call @select_eb84ca(%c_true, %add_def5, %carry_abfb) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
        %c_2_1838 = stablehlo.constant dense<2> : tensor<i32>
        %compare_38d3 = stablehlo.compare EQ, %call_6f93, %c_2_1838, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %c_0_4c11 = stablehlo.constant dense<0> : tensor<i32>
        %call_90ae = func.call @select_aa7e5c(%compare_38d3, %c_0_4c11, %call_6f93) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
        stablehlo.return %add_b169, %call_90ae, %dynamic_update_slice_aad7, %dynamic_update_slice_14d2, %dynamic_update_slice_2c53 : tensor<i32>, tensor<i32>, tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>
      }
      stablehlo.return %while#4 : tensor<256x128xf32>
    }) : (tensor<i32>) -> tensor<256x128xf32>
    return %case_1e24 : tensor<256x128xf32>
  }
  func.func private @select_eb84ca(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %select = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %select : tensor<i32>
  }
  func.func private @select_aa7e5c(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %convert = stablehlo.convert %arg1 : tensor<i32>
    %select = stablehlo.select %arg0, %convert, %arg2 : tensor<i1>, tensor<i32>
    return %select : tensor<i32>
  }
}
