# SPDX-License-Identifier: Apache-2.0
"""The CUDA driver through ctypes: no compiler is needed on the device's machine."""
import ctypes
import time

SM = 1  # CU_DEV_RESOURCE_TYPE_SM
UNWRITTEN = 0xFFFFFFFF

# Each block writes the SM it runs on and stays for spin_ns, so that the others go elsewhere.
KERNELS = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry smid(.param .u64 out, .param .u64 spin_ns)
{
  .reg .pred %p1;
  .reg .b32 %r<3>;
  .reg .b64 %rd<8>;
  mov.u64 %rd1, %globaltimer;
  ld.param.u64 %rd2, [out];
  ld.param.u64 %rd3, [spin_ns];
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r1, %smid;
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %rd4, %r2, 4;
  add.u64 %rd5, %rd2, %rd4;
  st.global.u32 [%rd5], %r1;
LOOP:
  mov.u64 %rd6, %globaltimer;
  sub.u64 %rd7, %rd6, %rd1;
  setp.lt.u64 %p1, %rd7, %rd3;
  @%p1 bra LOOP;
  ret;
}
.visible .entry fault()
{
  trap;
  ret;
}
"""


class Skip(Exception):
    """This can not be found out here; the text says why."""


class CudaError(Exception):
    """A driver call failed."""

    def __init__(self, name, code, text):
        super().__init__(f"{name}: {text} ({code})")
        self.code = code


class SmResource(ctypes.Structure):
    """CUdevSmResource."""
    _fields_ = [("count", ctypes.c_uint), ("minimum", ctypes.c_uint), ("alignment", ctypes.c_uint),
                ("flags", ctypes.c_uint)]


class Resource(ctypes.Structure):
    """CUdevResource: 144 bytes."""
    _fields_ = [("type", ctypes.c_int), ("padding", ctypes.c_ubyte * 92), ("sm", SmResource),
                ("oversize", ctypes.c_ubyte * 32)]


class AffinityParam(ctypes.Structure):
    """CUexecAffinityParam for a number of SMs."""
    _fields_ = [("type", ctypes.c_int), ("value", ctypes.c_uint)]


class Stream:
    """A stream and the context that its launches need."""

    def __init__(self, handle, resource=None, green=None):
        self.handle, self.resource, self.green = handle, resource, green


class Cuda:
    """Device 0 with its primary context current."""

    def __init__(self, context=True):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Skip(f"no CUDA driver: {error}") from error
        self.call("cuInit", 0)
        self.device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.context = ctypes.c_void_p()
        if context:
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
            self.call("cuCtxSetCurrent", self.context)
            self.load()

    def load(self):
        """The kernels above, in the current context."""
        module, self.smid, self.fault = (ctypes.c_void_p() for _ in range(3))
        self.call("cuModuleLoadData", ctypes.byref(module), KERNELS)
        self.call("cuModuleGetFunction", ctypes.byref(self.smid), module, b"smid")
        self.call("cuModuleGetFunction", ctypes.byref(self.fault), module, b"fault")

    def has(self, name):
        """Whether the driver exports it."""
        return hasattr(self.library, name)

    def call(self, name, *arguments):
        """A driver call; raises CudaError, Skip if the driver has not got it."""
        try:
            function = getattr(self.library, name)
        except AttributeError:
            raise Skip(f"the driver has no {name}") from None
        code = function(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(text))
            raise CudaError(name, code, (text.value or b"?").decode())

    def attribute(self, number):
        """cuDeviceGetAttribute; None if this driver does not know it."""
        value = ctypes.c_int()
        try:
            self.call("cuDeviceGetAttribute", ctypes.byref(value), number, self.device)
        except CudaError:
            return None
        return value.value

    def memory(self, size):
        """Device memory."""
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def stream(self):
        """An ordinary one."""
        handle = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(handle), 1)
        return Stream(handle)

    def sm_resource(self):
        """The device's SMs."""
        resource = Resource()
        self.call("cuDeviceGetDevResource", self.device, ctypes.byref(resource), SM)
        return resource

    def atoms(self, size):
        """The device's SMs in groups of `size`."""
        whole, count, rest = self.sm_resource(), ctypes.c_uint(), Resource()
        self.call("cuDevSmResourceSplitByCount", None, ctypes.byref(count), ctypes.byref(whole), None, 0, size)
        groups = (Resource * count.value)()
        self.call("cuDevSmResourceSplitByCount", groups, ctypes.byref(count), ctypes.byref(whole), ctypes.byref(rest), 0,
                  size)
        return list(groups)[:count.value]

    def green_stream(self, groups):
        """A stream on a green context of these groups; never made current."""
        array = (Resource * len(groups))(*groups)
        descriptor, green, handle, got = (ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), Resource())
        self.call("cuDevResourceGenerateDesc", ctypes.byref(descriptor), array, len(groups))
        self.call("cuGreenCtxCreate", ctypes.byref(green), descriptor, self.device, 1)
        self.call("cuGreenCtxStreamCreate", ctypes.byref(handle), green, 1, 0)
        self.call("cuGreenCtxGetDevResource", green, ctypes.byref(got), SM)
        return Stream(handle, got.sm.count, green)

    def launch(self, function, stream, blocks=1, arguments=(), shared=0):
        """Launches; `arguments`: ctypes values."""
        pointers = (ctypes.c_void_p * max(1, len(arguments)))(
            *(ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in arguments))
        self.call("cuLaunchKernel", function, blocks, 1, 1, 32, 1, 1, shared, stream.handle, pointers, None)

    def synchronize(self, stream):
        """Waits for a stream."""
        self.call("cuStreamSynchronize", stream.handle)

    def sms_of(self, stream, blocks, spin_ns=2_000_000, launch=True):
        """The SMs that `blocks` blocks ran on, sorted. Skip where kernels are not computed."""
        out = self.memory(4 * blocks)
        self.call("cuMemsetD32_v2", out, ctypes.c_uint(UNWRITTEN), ctypes.c_size_t(blocks))
        if launch:
            self.launch(self.smid, stream, blocks, (out, ctypes.c_uint64(spin_ns)))
        self.synchronize(stream)
        return self.read_sms(out, blocks)

    def read_sms(self, out, blocks):
        """What the kernel wrote."""
        host = (ctypes.c_uint * blocks)()
        self.call("cuMemcpyDtoH_v2", host, out, ctypes.c_size_t(4 * blocks))
        if UNWRITTEN in host:
            raise Skip("kernels are not computed on this device (a simulated one): no %smid")
        return sorted(set(host))

    def event(self, timing=True):
        """An event."""
        handle = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(handle), 0 if timing else 2)
        return handle

    def elapsed_ms(self, first, second):
        """Between two events."""
        value = ctypes.c_float()
        name = "cuEventElapsedTime_v2" if self.has("cuEventElapsedTime_v2") else "cuEventElapsedTime"
        self.call(name, ctypes.byref(value), first, second)
        return round(value.value, 4)


def microseconds(function, repeats):
    """Mean time of a call, us of wall time. Python's own share is in it."""
    function()
    begin = time.perf_counter()
    for _ in range(repeats):
        function()
    return round((time.perf_counter() - begin) / repeats * 1e6, 3)
