module @program attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x128xf32>, %arg1: tensor<256x128xf32>) -> tensor<256x128xf32> {
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %case_b4fb = "stablehlo.case"(%c_1) ({
      %c_0_0adc_1 = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c_0_0adc_1 : tensor<i32>
    }, {
      %c_0_0adc_2 = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c_0_0adc_2 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %case_1e24 = "stablehlo.case"(%case_b4fb) ({
      %tpu_custom_call = stablehlo.custom_call @tpu_custom_call(%arg0, %arg1) {backend_config = "{\22custom_call_config\22: {\22body\22: \22hlodiff:kernel:sha256:15028c5b6554b7f892836fb8d67f826b9ea95e6eef339264a0fd64334e14e423\22, \22serialization_format\22: 1, \22needs_layout_passes\22: true}}", operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<256x128xf32>
      stablehlo.return %tpu_custom_call : tensor<256x128xf32>
    }) : (tensor<i32>) -> tensor<256x128xf32>
    return %case_1e24 : tensor<256x128xf32>
  }
}
