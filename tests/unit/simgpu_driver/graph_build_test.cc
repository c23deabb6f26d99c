// SPDX-License-Identifier: Apache-2.0
// Graphs made by hand, changed, cloned; executables that change.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/unit/simgpu_driver/device_process.h"

namespace sgprs::simgpu::testing {
namespace {

class GraphBuildTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    data_ = Allocate(64);
    ASSERT_OK(cuMemsetD32(data_, 0, 16));
    ASSERT_OK(cuCtxSynchronize());
    add_one_ = Function("add_one");
    ASSERT_OK(cuGraphCreate(&graph_, 0));
  }

  // add_one on `count` ints from element `index` on. The parameters live in the node from then on.
  CUDA_KERNEL_NODE_PARAMS KernelParams(int index, int count = 1) {
    pointer_ = data_ + 4 * static_cast<size_t>(index);
    count_ = count;
    arguments_[0] = &pointer_;
    arguments_[1] = &count_;
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = add_one_;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 32;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments_;
    return params;
  }
  CUgraphNode AddKernel(const std::vector<CUgraphNode>& after, int index, int count = 1) {
    const CUDA_KERNEL_NODE_PARAMS params = KernelParams(index, count);
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddKernelNode(&node, graph_, after.data(), after.size(), &params));
    return node;
  }
  static CUDA_MEMSET_NODE_PARAMS Fill(CUdeviceptr target, unsigned int value, size_t count) {
    CUDA_MEMSET_NODE_PARAMS params{};
    params.dst = target;
    params.value = value;
    params.elementSize = 4;
    params.width = count;
    params.height = 1;
    return params;
  }
  CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_OK(cuGraphInstantiate(&exec, graph, 0));
    return exec;
  }
  void Run(CUgraphExec exec) {
    EXPECT_OK(cuGraphLaunch(exec, stream_));
    EXPECT_OK(cuStreamSynchronize(stream_));
  }
  std::vector<int> Read(size_t count) {
    std::vector<int> values(count);
    EXPECT_OK(cuMemcpyDtoH(values.data(), data_, count * 4));
    return values;
  }

  CUstream stream_ = nullptr;
  CUdeviceptr data_ = 0;
  CUfunction add_one_ = nullptr;
  CUgraph graph_ = nullptr;
  CUdeviceptr pointer_ = 0;
  int count_ = 0;
  void* arguments_[2] = {};
};

TEST_F(GraphBuildTest, NodesOfEveryKindRunInTheOrderOfTheEdges) {
  const CUDA_MEMSET_NODE_PARAMS fill = Fill(data_, 5, 4);
  CUgraphNode set;
  ASSERT_OK(cuGraphAddMemsetNode(&set, graph_, nullptr, 0, &fill, context_));
  const CUgraphNode left = AddKernel({set}, 0);
  const CUgraphNode right = AddKernel({set}, 1);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = data_;
  copy.dstDevice = data_ + 16;
  copy.WidthInBytes = 16;
  copy.Height = copy.Depth = 1;
  const CUgraphNode both[] = {left, right};
  CUgraphNode moved;
  ASSERT_OK(cuGraphAddMemcpyNode(&moved, graph_, both, 2, &copy, context_));
  int seen = 0;
  CUDA_HOST_NODE_PARAMS host{};
  host.fn = [](void* count) { ++*static_cast<int*>(count); };
  host.userData = &seen;
  CUgraphNode told;
  ASSERT_OK(cuGraphAddHostNode(&told, graph_, &moved, 1, &host));
  CUevent done;
  ASSERT_OK(cuEventCreate(&done, 0));
  CUgraphNode recorded;
  ASSERT_OK(cuGraphAddEventRecordNode(&recorded, graph_, &told, 1, done));
  CUgraphNode last;
  ASSERT_OK(cuGraphAddEmptyNode(&last, graph_, &recorded, 1));

  size_t count = 0;
  ASSERT_OK(cuGraphGetEdges(graph_, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(7u, count);
  CUgraphNode found[3];
  count = 3;
  ASSERT_OK(cuGraphNodeGetDependentNodes(set, found, nullptr, &count));
  EXPECT_EQ(2u, count);
  EXPECT_EQ(left, found[0]);
  EXPECT_EQ(nullptr, found[2]);
  CUgraphExec exec = Instantiate(graph_);
  for (int i = 1; i <= 3; ++i) {
    Run(exec);
    EXPECT_EQ(i, seen);
    EXPECT_OK(cuEventQuery(done));
  }
  EXPECT_EQ((std::vector<int>{6, 6, 5, 5, 6, 6, 5, 5}), Read(8));

  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(graph_, &set, &left, nullptr, 1));
  ASSERT_OK(cuGraphAddDependencies(graph_, &last, &set, nullptr, 1));
  CUgraphExec cyclic = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithParams(&cyclic, graph_, &params));
  EXPECT_EQ(CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, params.result_out);
  EXPECT_NE(nullptr, params.hErrNode_out);
  ASSERT_OK(cuGraphRemoveDependencies(graph_, &last, &set, nullptr, 1));
  ASSERT_OK(cuGraphDestroyNode(last));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(last));
}

TEST_F(GraphBuildTest, ExecutablesTakeNewParameters) {
  const CUgraphNode node = AddKernel({}, 0);
  const CUDA_MEMSET_NODE_PARAMS fill = Fill(data_ + 8, 1, 1);
  CUgraphNode set;
  ASSERT_OK(cuGraphAddMemsetNode(&set, graph_, &node, 1, &fill, context_));
  CUgraphExec exec = Instantiate(graph_);
  CUDA_KERNEL_NODE_PARAMS params = KernelParams(1);
  ASSERT_OK(cuGraphExecKernelNodeSetParams(exec, node, &params));
  const CUDA_MEMSET_NODE_PARAMS other = Fill(data_ + 8, 9, 1);
  ASSERT_OK(cuGraphExecMemsetNodeSetParams(exec, set, &other, context_));
  Run(exec);
  EXPECT_EQ((std::vector<int>{0, 1, 9}), Read(3));
  Run(Instantiate(graph_));  // the graph is what it was
  EXPECT_EQ((std::vector<int>{1, 1, 1}), Read(3));
  params.blockDimX = 2000;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(exec, node, &params));
  ASSERT_OK(cuGraphNodeSetEnabled(exec, node, 0));
  unsigned int enabled = 1;
  ASSERT_OK(cuGraphNodeGetEnabled(exec, node, &enabled));
  EXPECT_EQ(0u, enabled);
  Run(exec);
  EXPECT_EQ((std::vector<int>{1, 1, 9}), Read(3));
  ASSERT_OK(cuGraphNodeSetEnabled(exec, node, 1));
  params = KernelParams(3);
  ASSERT_OK(cuGraphKernelNodeSetParams(node, &params));
  Run(Instantiate(graph_));
  EXPECT_EQ((std::vector<int>{1, 1, 1, 1}), Read(4));
}

TEST_F(GraphBuildTest, UpdatesFollowTheTopology) {
  const CUgraphNode first = AddKernel({}, 0);
  AddKernel({first}, 0);
  CUgraphExec exec = Instantiate(graph_);
  const auto capture = [&](int kernels, bool fill) {
    CUgraph graph = nullptr;
    EXPECT_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < kernels; ++i) EXPECT_OK(LaunchAddOne(add_one_, data_ + 4, 1, stream_));
    if (fill) {
      EXPECT_OK(cuMemsetD32Async(data_, 1, 1, stream_));
    }
    EXPECT_OK(cuStreamEndCapture(stream_, &graph));
    return graph;
  };
  CUgraphExecUpdateResultInfo info;
  ASSERT_OK(cuGraphExecUpdate(exec, capture(2, false), &info));
  EXPECT_EQ(CU_GRAPH_EXEC_UPDATE_SUCCESS, info.result);
  Run(exec);
  EXPECT_EQ((std::vector<int>{0, 2}), Read(2));
  EXPECT_EQ(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
            cuGraphExecUpdate(exec, capture(3, false), &info));
  EXPECT_EQ(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, info.result);
  EXPECT_EQ(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, capture(1, true), &info));
  EXPECT_EQ(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, info.result);
  EXPECT_NE(nullptr, info.errorNode);
  Run(exec);  // unharmed
  EXPECT_EQ((std::vector<int>{0, 4}), Read(2));
}

TEST_F(GraphBuildTest, ChildGraphsRunInPlace) {
  const CUgraphNode inner = AddKernel({}, 0);
  AddKernel({}, 1);
  CUgraph child = graph_;
  ASSERT_OK(cuGraphCreate(&graph_, 0));
  const CUDA_MEMSET_NODE_PARAMS fill = Fill(data_, 10, 2);
  CUgraphNode set;
  ASSERT_OK(cuGraphAddMemsetNode(&set, graph_, nullptr, 0, &fill, context_));
  CUgraphNode node;
  ASSERT_OK(cuGraphAddChildGraphNode(&node, graph_, &set, 1, child));
  AddKernel({node}, 0, 2);
  CUgraph copy;
  ASSERT_OK(cuGraphChildGraphNodeGetGraph(node, &copy));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(copy));  // the node's
  CUgraphNode same;
  ASSERT_OK(cuGraphNodeFindInClone(&same, inner, copy));
  ASSERT_OK(cuGraphDestroy(child));
  CUgraphExec exec = Instantiate(graph_);
  Run(exec);
  EXPECT_EQ((std::vector<int>{12, 12}), Read(2));
  // A launch that is captured is a child graph too.
  ASSERT_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(cuGraphLaunch(exec, stream_));
  ASSERT_OK(LaunchAddOne(add_one_, data_, 1, stream_));
  CUgraph captured;
  ASSERT_OK(cuStreamEndCapture(stream_, &captured));
  CUgraph clone;
  ASSERT_OK(cuGraphClone(&clone, captured));
  ASSERT_OK(cuGraphDestroy(captured));
  Run(Instantiate(clone));
  EXPECT_EQ((std::vector<int>{13, 12}), Read(2));
}

TEST_F(GraphBuildTest, MemoryNodesKeepTheirAddress) {
  ASSERT_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUdeviceptr scratch;
  ASSERT_OK(cuMemAllocAsync(&scratch, 64, stream_));
  ASSERT_OK(cuMemsetD32Async(scratch, 7, 1, stream_));
  ASSERT_OK(LaunchAddOne(add_one_, scratch, 1, stream_));
  ASSERT_OK(cuMemcpyDtoDAsync(data_, scratch, 4, stream_));
  ASSERT_OK(cuMemFreeAsync(scratch, stream_));
  CUgraph graph;
  ASSERT_OK(cuStreamEndCapture(stream_, &graph));
  CUgraphExec exec = Instantiate(graph);
  CUgraphExec second;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&second, graph, 0));
  CUgraph clone;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&clone, graph));
  for (int i = 0; i < 2; ++i) Run(exec);
  EXPECT_EQ(8, Read(1)[0]);
  cuuint64_t used = 0;
  ASSERT_OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_GE(used, 64u);
  ASSERT_OK(cuGraphExecDestroy(exec));
  ASSERT_OK(cuGraphDestroy(graph));
  ASSERT_OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(0u, used);
}

TEST_F(GraphBuildTest, AnAllocationThatIsNotFreedIsTheProgramsToFree) {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  params.bytesize = 64;
  CUgraphNode node;
  ASSERT_OK(cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &params));
  ASSERT_NE(0u, params.dptr);
  CUgraphExec exec = Instantiate(graph_);
  Run(exec);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream_));  // still allocated
  ASSERT_OK(cuMemsetD32(params.dptr, 1, 1));
  ASSERT_OK(cuMemFree(params.dptr));
  Run(exec);
  ASSERT_OK(cuGraphExecDestroy(exec));
  ASSERT_OK(cuGraphDestroy(graph_));
  ASSERT_OK(cuMemsetD32(params.dptr, 1, 1));  // outlives its graph
  ASSERT_OK(cuMemFree(params.dptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(params.dptr, 1, 1));
}

TEST_F(GraphBuildTest, ExternalEventsAreNodes) {
  CUevent event;
  CUevent gate_event;
  ASSERT_OK(cuEventCreate(&event, 0));
  ASSERT_OK(cuEventCreate(&gate_event, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuEventRecordWithFlags(event, stream_, CU_EVENT_RECORD_EXTERNAL));
  ASSERT_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(cuStreamWaitEvent(stream_, gate_event, CU_EVENT_WAIT_EXTERNAL));
  ASSERT_OK(LaunchAddOne(add_one_, data_, 1, stream_));
  ASSERT_OK(cuEventRecordWithFlags(event, stream_, CU_EVENT_RECORD_EXTERNAL));
  CUgraph graph;
  ASSERT_OK(cuStreamEndCapture(stream_, &graph));
  CUgraphExec exec = Instantiate(graph);
  CUstream side;
  ASSERT_OK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
  Gate gate;
  gate.Close(side);
  ASSERT_OK(cuEventRecord(gate_event, side));
  ASSERT_OK(cuGraphLaunch(exec, stream_));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  gate.Open();
  ASSERT_OK(cuEventSynchronize(event));
  EXPECT_EQ(1, Read(1)[0]);
}

TEST_F(GraphBuildTest, KernelAttributesAndUserObjectsAndDot) {
  const CUgraphNode node = AddKernel({}, 0);
  CUkernelNodeAttrValue value{};
  value.priority = -1;
  ASSERT_OK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
  const CUgraphNode other = AddKernel({}, 0);
  ASSERT_OK(cuGraphKernelNodeCopyAttributes(other, node));
  value.priority = 0;
  ASSERT_OK(cuGraphKernelNodeGetAttribute(other, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
  EXPECT_EQ(-1, value.priority);
  int gone = 0;
  CUuserObject object;
  ASSERT_OK(cuUserObjectCreate(
      &object, &gone, [](void* count) { ++*static_cast<int*>(count); }, 1,
      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  ASSERT_OK(cuGraphRetainUserObject(graph_, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  CUgraphExec exec = nullptr;
  ASSERT_OK(cuGraphInstantiate(&exec, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
  Run(exec);
  EXPECT_EQ(2, Read(1)[0]);
  const std::string path = std::string("/tmp/simgpu-dot-") + std::to_string(getpid());
  ASSERT_OK(cuGraphDebugDotPrint(graph_, path.c_str(), 1));
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NE(std::string::npos, text.find("add_one"));
  std::remove(path.c_str());
  ASSERT_OK(cuGraphDestroy(graph_));
  EXPECT_EQ(0, gone);
  ASSERT_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(1, gone);
}

}  // namespace
}  // namespace sgprs::simgpu::testing
