// A slice that begins where the dimension ends, of a tensor of which another slice is taken.
// IREE: out-of-bounds
module @module {
  func.func @main(%x: !torch.vtensor<[3],si64>) -> !torch.vtensor<[0],si64> {
    %int0 = torch.constant.int 0
    %int1 = torch.constant.int 1
    %int3 = torch.constant.int 3
    %minus = torch.constant.int -1
    %end = torch.constant.int 9223372036854775807
    %y = torch.aten.slice.Tensor %x, %int0, %int3, %end, %int1 : !torch.vtensor<[3],si64>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[0],si64>
    %z = torch.aten.slice.Tensor %y, %minus, %minus, %end, %int3 : !torch.vtensor<[0],si64>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[0],si64>
    %s = torch.aten.add.Scalar %z, %int0, %int1 : !torch.vtensor<[0],si64>, !torch.int, !torch.int -> !torch.vtensor<[0],si64>
    return %s : !torch.vtensor<[0],si64>
  }
}
