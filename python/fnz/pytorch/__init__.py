"""The part of the package that imports PyTorch: exported programs in and out, and the backend of torch.compile(). The rest of
the package imports these modules where a caller gives PyTorch's objects.

    torch.compile(model, backend="fnz")            # finds fnz.pytorch.dynamo.backend, if the package is installed
"""
