// torch.overwrite.tensor.contents of integers; of f32 it is right.
// IREE: failed to legalize unresolved
module @module {
  func.func @main(%n: !torch.tensor<[1],si64>) {
    %int1 = torch.constant.int 1
    %old = torch.copy.to_vtensor %n : !torch.vtensor<[1],si64>
    %new = torch.aten.add.Scalar %old, %int1, %int1 : !torch.vtensor<[1],si64>, !torch.int, !torch.int -> !torch.vtensor<[1],si64>
    torch.overwrite.tensor.contents %new overwrites %n : !torch.vtensor<[1],si64>, !torch.tensor<[1],si64>
    return
  }
}
