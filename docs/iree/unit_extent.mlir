// A window with an output extent of 1, a step above 1 and elements left over behind it.
// IREE: inferred
module @module {
  func.func @main(%x: !torch.vtensor<[1,2,2,2],f32>, %w: !torch.vtensor<[2,1,3,3],f32>) -> !torch.vtensor<[1,2,1,1],f32> {
    %none = torch.constant.none
    %int1 = torch.constant.int 1
    %int2 = torch.constant.int 2
    %two = torch.prim.ListConstruct %int2, %int2 : (!torch.int, !torch.int) -> !torch.list<int>
    %one = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
    %y = torch.aten.conv2d %x, %w, %none, %two, %one, %one, %int2 : !torch.vtensor<[1,2,2,2],f32>, !torch.vtensor<[2,1,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[1,2,1,1],f32>
    return %y : !torch.vtensor<[1,2,1,1],f32>
  }
}
