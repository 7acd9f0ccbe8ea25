// aten.select_scatter with a negative index leaves the tensor as it was: prints 0 0 0, and should print 0 0 1.
module @module {
  func.func @main() -> !torch.vtensor<[3],f32> {
    %zeros = torch.vtensor.literal(dense<0.0> : tensor<3xf32>) : !torch.vtensor<[3],f32>
    %one = torch.vtensor.literal(dense<1.0> : tensor<f32>) : !torch.vtensor<[],f32>
    %int0 = torch.constant.int 0
    %last = torch.constant.int -1
    %y = torch.aten.select_scatter %zeros, %one, %int0, %last : !torch.vtensor<[3],f32>, !torch.vtensor<[],f32>, !torch.int, !torch.int -> !torch.vtensor<[3],f32>
    return %y : !torch.vtensor<[3],f32>
  }
}
