// SPDX-License-Identifier: Apache-2.0
#include "shim/graph/graph_template.h"

#include <stdlib.h>
#include <string.h>

#include <new>

#include "shim/interpose/interpose.h"
#include "shim/session.h"

namespace sgprs::shim {
namespace {

constexpr uint32_t kDeepest = 8;
constexpr uint32_t kMostNodes = 1u << 20;

uint64_t Mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3ull; }

struct Place {
  CUgraphNode node;
  uint32_t at;
};
int Compare(const void* a, const void* b) {
  const auto x = reinterpret_cast<uintptr_t>(static_cast<const Place*>(a)->node);
  const auto y = reinterpret_cast<uintptr_t>(static_cast<const Place*>(b)->node);
  return x < y ? -1 : x > y ? 1 : 0;
}

// What every attribute is that was never set.
bool IsZero(const CUlaunchAttributeValue& value) {
  unsigned char bytes[sizeof(value)];
  memcpy(bytes, &value, sizeof(value));
  for (const unsigned char byte : bytes) {
    if (byte != 0) return false;
  }
  return true;
}

// Attributes that a kernel node carries. False: one that ties it to what a copy is not.
bool ReadAttributes(GraphNode* node) {
  static constexpr CUlaunchAttributeID kIds[] = {
      CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
      CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
      CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
      CU_LAUNCH_ATTRIBUTE_PRIORITY,
      CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
      CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
      CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
      CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
      CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
  };
  static_assert(sizeof(kIds) / sizeof(kIds[0]) <= kGraphAttributes);
  for (const CUlaunchAttributeID id : kIds) {
    CUlaunchAttributeValue value;
    memset(&value, 0, sizeof(value));
    // A driver that does not know the attribute has none of it.
    if (SGPRS_REAL(cuGraphKernelNodeGetAttribute)(node->origin, id, &value) != CUDA_SUCCESS)
      continue;
    if (IsZero(value)) continue;
    if (id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) return false;
    CUlaunchAttribute* attribute = &node->attributes[node->attribute_count++];
    memset(attribute, 0, sizeof(*attribute));
    attribute->id = id;
    attribute->value = value;
  }
  return true;
}

const void* ExtraBuffer(void** extra, size_t* bytes) {
  const void* buffer = nullptr;
  for (int i = 0; i < 8 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[i + 1];
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) *bytes = *static_cast<size_t*>(extra[i + 1]);
  }
  return buffer;
}

}  // namespace

// A list of indices that frees itself.
struct GraphTemplate::List {
  List() = default;
  ~List() { free(at); }
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  bool Add(const uint32_t* more, uint32_t more_count) {
    for (uint32_t i = 0; i < more_count; ++i) {
      bool there = false;
      for (uint32_t k = 0; k < count && !there; ++k) there = at[k] == more[i];
      if (there) continue;
      if (count == room) {
        room = room == 0 ? 4 : room * 2;
        void* larger = realloc(at, room * sizeof(uint32_t));
        if (larger == nullptr) return false;
        at = static_cast<uint32_t*>(larger);
      }
      at[count++] = more[i];
    }
    return true;
  }
  uint32_t* at = nullptr;
  uint32_t count = 0;
  uint32_t room = 0;
};

GraphTemplate::~GraphTemplate() {
  for (uint32_t i = 0; i < count_; ++i) {
    free(nodes_[i].dependencies);
    if (nodes_[i].type == CU_GRAPH_NODE_TYPE_KERNEL) free(nodes_[i].kernel.params);
  }
  free(nodes_);
}

bool GraphTemplate::CopyKernel(GraphNode* node, const CUDA_KERNEL_NODE_PARAMS& p) {
  const CUfunction function = p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);
  KernelTable& table = TheSession()->kernels;
  const KernelInfo* info = table.Find(function);
  if (info == nullptr && function != nullptr) info = table.Learn(function);
  if (info == nullptr || !info->recordable) return false;
  auto* params = static_cast<unsigned char*>(calloc(1, info->param_bytes + 64));
  if (params == nullptr) return false;
  if (p.kernelParams != nullptr) {
    for (uint32_t i = 0; i < info->param_count; ++i) {
      memcpy(params + info->params[i].offset_bytes, p.kernelParams[i], info->params[i].size_bytes);
    }
  } else if (p.extra != nullptr) {
    size_t bytes = 0;
    const void* buffer = ExtraBuffer(p.extra, &bytes);
    if (buffer == nullptr || bytes < info->param_bytes) {
      free(params);
      return false;
    }
    memcpy(params, buffer, info->param_bytes);
  }
  free(node->kernel.params);
  node->kernel = {function,
                  info,
                  {p.gridDimX, p.gridDimY, p.gridDimZ},
                  {p.blockDimX, p.blockDimY, p.blockDimZ},
                  p.sharedMemBytes,
                  params};
  return true;
}

void GraphTemplate::ReadKernel(GraphNode* node, const char** why) {
  CUDA_KERNEL_NODE_PARAMS params;
  memset(&params, 0, sizeof(params));
  node->kernel = {};
  ++kernels_;
  if (SGPRS_REAL(cuGraphKernelNodeGetParams_v2)(node->origin, &params) != CUDA_SUCCESS ||
      !CopyKernel(node, params)) {
    *why = "a kernel whose parameters are not known";
  } else if (!ReadAttributes(node)) {
    *why = "a kernel that the device updates";
  }
}

bool GraphTemplate::ReadNode(CUgraphNode origin, CUgraphNodeType type, const List& after,
                             uint32_t* index, const char** why) {
  if (count_ == room_) {
    const uint32_t room = room_ == 0 ? 16 : room_ * 2;
    void* larger = room <= kMostNodes ? realloc(nodes_, room * sizeof(GraphNode)) : nullptr;
    if (larger == nullptr) {
      *why = "too many nodes";
      return false;
    }
    nodes_ = static_cast<GraphNode*>(larger);
    room_ = room;
  }
  auto* node = new (&nodes_[count_]) GraphNode;
  *index = count_++;
  node->origin = origin;
  node->type = type;
  List dependencies;
  if (!dependencies.Add(after.at, after.count)) *why = "out of memory";
  node->dependencies = dependencies.at;
  node->dependency_count = dependencies.count;
  dependencies.at = nullptr;
  CUresult result = CUDA_SUCCESS;
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      ReadKernel(node, why);
      break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      result = SGPRS_REAL(cuGraphMemcpyNodeGetParams)(origin, &node->copy);
      break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      result = SGPRS_REAL(cuGraphMemsetNodeGetParams)(origin, &node->fill);
      break;
    case CU_GRAPH_NODE_TYPE_HOST:
      result = SGPRS_REAL(cuGraphHostNodeGetParams)(origin, &node->host);
      break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      result = SGPRS_REAL(cuGraphEventRecordNodeGetEvent)(origin, &node->event);
      break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      result = SGPRS_REAL(cuGraphEventWaitNodeGetEvent)(origin, &node->event);
      break;
    default:
      *why = "a node that can not be made twice (memory, condition, semaphore, memory operation)";
      break;
  }
  if (result != CUDA_SUCCESS) *why = "a node that the driver does not describe";
  return true;  // the rest is read all the same: it is counted
}

// The nodes of one graph while it is read.
class GraphTemplate::Level {
 public:
  ~Level() {
    free(all_);
    free(places_);
    delete[] needs_;
    delete[] ends_;
    free(made_);
    free(followed_);
  }

  // Nodes and edges. False: not to be had, or edges with data, which a copy would lose.
  bool Load(CUgraph graph) {
    size_t count = 0;
    if (SGPRS_REAL(cuGraphGetNodes)(graph, nullptr, &count) != CUDA_SUCCESS) return false;
    count_ = static_cast<uint32_t>(count);
    all_ = static_cast<CUgraphNode*>(calloc(count + 1, sizeof(CUgraphNode)));
    places_ = static_cast<Place*>(calloc(count + 1, sizeof(Place)));
    needs_ = new (std::nothrow) List[count + 1];
    ends_ = new (std::nothrow) List[count + 1];
    made_ = static_cast<bool*>(calloc(count + 1, sizeof(bool)));
    followed_ = static_cast<bool*>(calloc(count + 1, sizeof(bool)));
    if (all_ == nullptr || places_ == nullptr || needs_ == nullptr || ends_ == nullptr ||
        made_ == nullptr || followed_ == nullptr) {
      return false;
    }
    if (count == 0) return true;
    if (SGPRS_REAL(cuGraphGetNodes)(graph, all_, &count) != CUDA_SUCCESS) return false;
    for (uint32_t i = 0; i < count_; ++i) places_[i] = {all_[i], i};
    qsort(places_, count_, sizeof(Place), Compare);
    for (uint32_t i = 0; i < count_; ++i) {
      if (!LoadEdges(i)) return false;
    }
    return true;
  }

  uint32_t count() const { return count_; }
  CUgraphNode node(uint32_t i) const { return all_[i]; }
  bool made(uint32_t i) const { return made_[i]; }
  void SetMade(uint32_t i) { made_[i] = true; }
  List* ends(uint32_t i) { return &ends_[i]; }
  bool Ready(uint32_t i) const {
    for (uint32_t k = 0; k < needs_[i].count; ++k) {
      if (!made_[needs_[i].at[k]]) return false;
    }
    return true;
  }
  // What node `i` comes after; `before` if it depends on none of its graph.
  bool After(uint32_t i, const uint32_t* before, uint32_t before_count, List* after) const {
    bool good = needs_[i].count != 0 || after->Add(before, before_count);
    for (uint32_t k = 0; good && k < needs_[i].count; ++k) {
      const List& end = ends_[needs_[i].at[k]];
      good = after->Add(end.at, end.count);
    }
    return good;
  }
  bool Last(List* last) const {
    bool good = true;
    for (uint32_t i = 0; good && i < count_; ++i) {
      if (!followed_[i]) good = last->Add(ends_[i].at, ends_[i].count);
    }
    return good;
  }

 private:
  bool LoadEdges(uint32_t i) {
    size_t count = 0;
    if (SGPRS_REAL(cuGraphNodeGetDependencies)(all_[i], nullptr, &count) != CUDA_SUCCESS) {
      return false;
    }
    if (count == 0) return true;
    auto* found = static_cast<CUgraphNode*>(calloc(count, sizeof(CUgraphNode)));
    bool good = found != nullptr &&
                SGPRS_REAL(cuGraphNodeGetDependencies)(all_[i], found, &count) == CUDA_SUCCESS;
    for (size_t k = 0; good && k < count; ++k) {
      const Place wanted = {found[k], 0};
      const auto* place =
          static_cast<const Place*>(bsearch(&wanted, places_, count_, sizeof(Place), Compare));
      good = place != nullptr && needs_[i].Add(&place->at, 1);
      if (good) followed_[place->at] = true;
    }
    free(found);
    return good;
  }

  uint32_t count_ = 0;
  CUgraphNode* all_ = nullptr;
  Place* places_ = nullptr;
  List* needs_ = nullptr;  // places in `all_`
  List* ends_ = nullptr;   // what each node became: indices of ours
  bool* made_ = nullptr;
  bool* followed_ = nullptr;
};

bool GraphTemplate::ReadOne(CUgraphNode node, const List& after, uint32_t depth, List* ends,
                            const char** why) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  if (SGPRS_REAL(cuGraphNodeGetType)(node, &type) != CUDA_SUCCESS) return false;
  if (type == CU_GRAPH_NODE_TYPE_EMPTY) return ends->Add(after.at, after.count);
  if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
    CUgraph child = nullptr;
    return SGPRS_REAL(cuGraphChildGraphNodeGetGraph)(node, &child) == CUDA_SUCCESS &&
           ReadInto(child, after, depth + 1, ends, why);
  }
  uint32_t index = 0;
  return ReadNode(node, type, after, &index, why) && ends->Add(&index, 1);
}

// All nodes of `graph`, those that depend on none behind `before`; `tails`: what comes last.
bool GraphTemplate::ReadInto(CUgraph graph, const List& before, uint32_t depth, List* tails,
                             const char** why) {
  Level level;
  if (depth > kDeepest || !level.Load(graph)) {
    *why = "edges with data, or a graph that the driver does not describe";
    return false;
  }
  // Mostly one turn: nodes are listed as they were made.
  for (uint32_t made = 0; made < level.count();) {
    const uint32_t made_before = made;
    for (uint32_t i = 0; i < level.count(); ++i) {
      if (level.made(i) || !level.Ready(i)) continue;
      List after;
      if (!level.After(i, before.at, before.count, &after) ||
          !ReadOne(level.node(i), after, depth, level.ends(i), why)) {
        return false;
      }
      level.SetMade(i);
      ++made;
    }
    if (made == made_before) return false;
  }
  return level.count() == 0 ? tails->Add(before.at, before.count) : level.Last(tails);
}

bool GraphTemplate::Read(CUgraph graph, const char** why) {
  *why = nullptr;
  List tails;
  const bool good = ReadInto(graph, List(), 0, &tails, why) && *why == nullptr;
  if (!good && *why == nullptr) *why = "a graph that the driver does not describe";
  return good;
}

GraphNode* GraphTemplate::Find(CUgraphNode origin) {
  for (uint32_t i = 0; i < count_; ++i) {
    if (nodes_[i].origin == origin) return &nodes_[i];
  }
  return nullptr;
}

bool GraphTemplate::SetKernel(CUgraphNode origin, const CUDA_KERNEL_NODE_PARAMS& params) {
  GraphNode* node = Find(origin);
  return node != nullptr && node->type == CU_GRAPH_NODE_TYPE_KERNEL && CopyKernel(node, params);
}

uint64_t GraphTemplate::Identity() const {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (uint32_t i = 0; i < count_; ++i) {
    const GraphNode& node = nodes_[i];
    hash = Mix(hash, node.type);
    if (node.type != CU_GRAPH_NODE_TYPE_KERNEL || node.kernel.info == nullptr) continue;
    hash = Mix(hash, node.kernel.info->name_hash);
    for (const uint32_t extent : node.kernel.grid) hash = Mix(hash, extent);
    for (const uint32_t extent : node.kernel.block) hash = Mix(hash, extent);
  }
  return hash;
}

}  // namespace sgprs::shim
