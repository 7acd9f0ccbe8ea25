// aten.index_put with a negative index writes outside of the tensor, and mostly crashes:
//   iree-run-module --module=x.vmfb --function=main --input=4xf32=1,2,3,4 --input=2xi64=-1,0 --input=2xf32=9,8
// should print 8 2 3 9. aten.index.Tensor reads the last element for -1.
module @module {
  func.func @main(%x: !torch.vtensor<[4],f32>, %i: !torch.vtensor<[2],si64>, %v: !torch.vtensor<[2],f32>) -> (!torch.vtensor<[4],f32>) {
    %false = torch.constant.bool false
    %all = torch.prim.ListConstruct %i : (!torch.vtensor<[2],si64>) -> !torch.list<optional<vtensor>>
    %y = torch.aten.index_put %x, %all, %v, %false : !torch.vtensor<[4],f32>, !torch.list<optional<vtensor>>, !torch.vtensor<[2],f32>, !torch.bool -> !torch.vtensor<[4],f32>
    return %y : !torch.vtensor<[4],f32>
  }
}
