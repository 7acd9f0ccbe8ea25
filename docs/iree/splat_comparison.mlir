// A comparison of a constant of floats with an integer is folded as if the float's bits were an integer, or not at all:
// prints 0 0, and should print 1 1, as it does for %other = torch.constant.float 2.0.
module @module {
  func.func @main() -> !torch.vtensor<[2],i1> {
    %six = torch.vtensor.literal(dense<6.0> : tensor<2xf32>) : !torch.vtensor<[2],f32>
    %other = torch.constant.int 2
    %y = torch.aten.gt.Scalar %six, %other : !torch.vtensor<[2],f32>, !torch.int -> !torch.vtensor<[2],i1>
    return %y : !torch.vtensor<[2],i1>
  }
}
