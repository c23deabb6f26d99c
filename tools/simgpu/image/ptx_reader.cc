// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/image/ptx_reader.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/simgpu/image/ptx_tokens.h"
#include "tools/simgpu/image/ptx_variable.h"

namespace sgprs::simgpu {
namespace {

constexpr uint64_t kMaxParamBytes = 32764;  // the driver's limit, CUDA 12.1 and later
constexpr uint32_t kMaxThreads = 1024;
constexpr uint64_t kMaxSharedBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxConstantBytes = uint64_t{1} << 30;

// A piece of memory that several functions may use.
struct ModuleMemory {
  uint64_t size_bytes;
  uint64_t align_bytes;
};

struct Function {
  std::set<std::string_view> names;  // every name in its body that could be a symbol
  uint64_t shared_bytes = 0;
  uint64_t local_bytes = 0;
};

void Place(uint64_t& total, uint64_t size, uint64_t align) {
  if (size != 0) total = AlignUp(total, align) + size;  // dynamic shared memory counts nothing
}

class ModuleReader {
 public:
  ModuleReader(std::string_view text, uint32_t compute) : tokens_(text), compute_(compute) {}

  Result<Image> Read() {
    while (!tokens_.AtEnd()) ReadStatement();
    if (!tokens_.status().ok()) return tokens_.status();
    if (!version_seen_) return {ErrorCode::kInvalid, "not PTX: no .version"};
    if (!unsuited_target_.empty()) {
      return {ErrorCode::kNotFound,
              "PTX is for " + unsuited_target_ + ", the device is sm_" + std::to_string(compute_)};
    }
    ResolveMemory();
    if (!tokens_.status().ok()) return tokens_.status();
    return std::move(image_);
  }

 private:
  void ReadStatement() {
    const std::string_view text = tokens_.Peek().text;
    if (text == ".file" || text == ".loc" || text == "@") return tokens_.SkipLine();
    tokens_.Next();
    if (text == ".version") {
      version_seen_ = tokens_.Next().kind == PtxToken::Kind::kNumber;
    } else if (!version_seen_) {
      tokens_.Fail("not PTX: .version expected first");
    } else if (text == ".target") {
      ReadTarget();
    } else if (text == ".address_size") {
      tokens_.ExpectNumber();
    } else if (text == ".visible" || text == ".weak" || text == ".common") {
      // linkage of what follows; nothing to know
    } else if (text == ".extern") {
      extern_ = true;
    } else if (text == ".entry") {
      ReadEntry();
    } else if (text == ".func") {
      ReadFunction();
    } else if (text == ".global" || text == ".const" || text == ".shared") {
      ReadModuleVariables(text);
    } else if (text == ".section") {
      while (!tokens_.AtEnd() && !tokens_.Peek().Is("{")) tokens_.Next();
      tokens_.SkipBalanced("{", "}");
    } else if (text == ".pragma" || text == ".alias") {
      while (!tokens_.AtEnd() && !tokens_.Accept(";")) tokens_.Next();
    } else if (text != ";") {
      tokens_.Fail("'" + std::string(text.substr(0, 40)) + "' not understood");
    }
  }

  // `sm_75`, `sm_90a` (that architecture only), `sm_100f` (its family: taken as the same major).
  void ReadTarget() {
    const std::string_view text = tokens_.Next().text;
    uint32_t compute = 0;
    const char* end = text.data() + text.size();
    const char* digits = text.data() + std::min<size_t>(3, text.size());
    const auto parsed = std::from_chars(digits, end, compute);
    if (text.substr(0, 3) != "sm_" || parsed.ec != std::errc() || compute > 999) {
      return tokens_.Fail("bad .target '" + std::string(text.substr(0, 40)) + "'");
    }
    image_.compute = compute;
    const std::string_view suffix = text.substr(static_cast<size_t>(parsed.ptr - text.data()));
    const bool suits =
        compute_ == 0 || (suffix == "a"   ? compute == compute_
                          : suffix == "f" ? compute / 10 == compute_ / 10 && compute <= compute_
                                          : compute <= compute_);
    if (!suits) unsuited_target_ = text;
    while (tokens_.Accept(",")) tokens_.Next();  // texmode_independent, debug ...
  }

  void ReadModuleVariables(std::string_view space) {
    for (PtxVariable& variable : ReadPtxVariables(tokens_, initial_budget_bytes_)) {
      if (space == ".shared") {
        shared_.emplace(variable.name, ModuleMemory{variable.size_bytes, variable.align_bytes});
      } else if (!extern_) {
        AddGlobal(std::move(variable), space == ".const");
      }
    }
    extern_ = false;
  }

  void AddGlobal(PtxVariable variable, bool constant) {
    if (constant) {
      constants_.emplace(variable.name, ModuleMemory{variable.size_bytes, variable.align_bytes});
    }
    const bool zero = std::all_of(variable.initial.begin(), variable.initial.end(),
                                  [](uint8_t byte) { return byte == 0; });
    if (zero) variable.initial.clear();
    image_.globals.push_back(
        {std::string(variable.name), variable.size_bytes, std::move(variable.initial), constant});
  }

  std::vector<ImageParam> ReadParams() {
    std::vector<ImageParam> params;
    uint64_t end = 0;
    if (!tokens_.Accept("(")) return params;
    while (!tokens_.AtEnd() && !tokens_.Accept(")")) {
      tokens_.Expect(".param");
      const PtxVariable param = ReadPtxVariable(tokens_, initial_budget_bytes_);
      const uint64_t offset = AlignUp(end, param.align_bytes);
      end = offset + param.size_bytes;
      if (param.size_bytes == 0) tokens_.Fail("parameter without a size");
      if (end > kMaxParamBytes) tokens_.Fail("more than 32764 bytes of parameters");
      params.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(param.size_bytes)});
      if (!tokens_.Peek().Is(")")) tokens_.Expect(",");
    }
    return params;
  }

  void ReadEntry() {
    const PtxToken name = tokens_.Next();
    if (name.kind != PtxToken::Kind::kName) return tokens_.Fail("name of a kernel expected");
    ImageKernel kernel;
    kernel.name = name.text;
    kernel.params = ReadParams();
    kernel.max_threads = ReadTuning();
    extern_ = false;
    if (tokens_.Accept(";")) return;  // only declared
    Function body = ReadBody();
    if (!tokens_.status().ok()) return;
    if (!functions_.emplace(name.text, std::move(body)).second) {
      return tokens_.Fail("kernel '" + kernel.name + "' is there twice");
    }
    kernel_names_.push_back(name.text);
    image_.kernels.push_back(std::move(kernel));
  }

  // Performance directives between parameters and body. Returns the most threads of a block.
  uint32_t ReadTuning() {
    uint64_t threads = kMaxThreads;
    while (!tokens_.AtEnd() && !tokens_.Peek().Is("{") && !tokens_.Peek().Is(";")) {
      const std::string_view text = tokens_.Next().text;
      if (text == ".pragma") {
        while (!tokens_.AtEnd() && !tokens_.Accept(";")) tokens_.Next();
      } else if (text == ".maxntid" || text == ".reqntid") {
        threads = std::min<uint64_t>(tokens_.ExpectNumber(), kMaxThreads);
        while (tokens_.Accept(",")) {
          threads *= std::min<uint64_t>(tokens_.ExpectNumber(), kMaxThreads);
        }
        threads = std::min<uint64_t>(threads, kMaxThreads);
        if (threads == 0) tokens_.Fail("a block of no threads");
      }
    }
    return static_cast<uint32_t>(threads);
  }

  void ReadFunction() {
    if (tokens_.Peek().Is("(")) tokens_.SkipBalanced("(", ")");
    const PtxToken name = tokens_.Next();
    if (name.kind != PtxToken::Kind::kName) return tokens_.Fail("name of a function expected");
    if (tokens_.Peek().Is("(")) tokens_.SkipBalanced("(", ")");
    while (!tokens_.AtEnd() && !tokens_.Peek().Is("{") && !tokens_.Peek().Is(";")) tokens_.Next();
    extern_ = false;
    if (tokens_.Accept(";")) return;
    functions_.emplace(name.text, ReadBody());
  }

  // From '{' to its '}'. Declarations stand where a statement may begin.
  Function ReadBody() {
    Function function;
    uint64_t depth = 0;
    bool begin = false;
    while (!tokens_.AtEnd()) {
      const PtxToken token = tokens_.Peek();
      if (token.IsDirective(".loc")) {
        tokens_.SkipLine();
        continue;
      }
      tokens_.Next();
      if (begin && (token.IsDirective(".shared") || token.IsDirective(".local"))) {
        ReadBodyVariables(function, token.text == ".shared");
        continue;
      }
      if (token.Is("{")) ++depth;
      if (token.Is("}") && --depth == 0) return function;
      if (token.kind == PtxToken::Kind::kName && token.text[0] != '%') {
        function.names.insert(token.text);
      }
      begin = token.Is("{") || token.Is("}") || token.Is(";") || token.Is(":") ||
              (begin && token.IsDirective(".extern"));
    }
    tokens_.Fail("body of a function does not end");
    return function;
  }

  void ReadBodyVariables(Function& function, bool shared) {
    for (const PtxVariable& variable : ReadPtxVariables(tokens_, initial_budget_bytes_)) {
      uint64_t& total = shared ? function.shared_bytes : function.local_bytes;
      Place(total, variable.size_bytes, variable.align_bytes);
      if (total > kMaxSharedBytes) return tokens_.Fail("too much memory in one function");
    }
  }

  // Everything that `kernel` reaches by calls, itself included.
  std::vector<const Function*> Reachable(std::string_view kernel) const {
    std::vector<const Function*> found;
    std::set<std::string_view> seen = {kernel};
    std::vector<std::string_view> open = {kernel};
    while (!open.empty()) {
      const auto at = functions_.find(open.back());
      open.pop_back();
      if (at == functions_.end()) continue;
      found.push_back(&at->second);
      for (const std::string_view name : at->second.names) {
        if (functions_.contains(name) && seen.insert(name).second) open.push_back(name);
      }
    }
    return found;
  }

  void ResolveMemory() {
    for (size_t i = 0; i < image_.kernels.size(); ++i) {
      uint64_t shared = 0;
      uint64_t constant = 0;
      uint64_t local = 0;
      std::set<std::string_view> seen;
      for (const Function* function : Reachable(kernel_names_[i])) {
        Place(shared, function->shared_bytes, 16);
        local += function->local_bytes;
        for (const std::string_view name : function->names) {
          const auto in_shared = shared_.find(name);
          const auto in_constant = constants_.find(name);
          if (in_shared == shared_.end() && in_constant == constants_.end()) continue;
          if (!seen.insert(name).second) continue;
          auto& total = in_shared != shared_.end() ? shared : constant;
          const ModuleMemory& memory =
              in_shared != shared_.end() ? in_shared->second : in_constant->second;
          Place(total, memory.size_bytes, memory.align_bytes);
          // Here, not at the end: many of the largest variables must not overflow the sum.
          if (shared > kMaxSharedBytes || constant > kMaxConstantBytes) {
            return tokens_.Fail("kernel '" + image_.kernels[i].name + "' needs too much memory");
          }
        }
      }
      ImageKernel& kernel = image_.kernels[i];
      kernel.static_shared_bytes = static_cast<uint32_t>(shared);
      kernel.const_bytes = static_cast<uint32_t>(constant);
      kernel.local_bytes = static_cast<uint32_t>(std::min<uint64_t>(local, kMaxSharedBytes));
    }
  }

  PtxTokens tokens_;
  const uint32_t compute_;
  bool version_seen_ = false;
  bool extern_ = false;
  std::string unsuited_target_;
  uint64_t initial_budget_bytes_ = kMaxInitialBytes;
  Image image_;
  std::vector<std::string_view> kernel_names_;  // parallel to image_.kernels
  std::unordered_map<std::string_view, Function> functions_;
  std::unordered_map<std::string_view, ModuleMemory> shared_;
  std::unordered_map<std::string_view, ModuleMemory> constants_;
};

}  // namespace

Result<Image> ReadPtx(std::string_view text, uint32_t compute) {
  return ModuleReader(text, compute).Read();
}

bool LooksLikePtx(std::string_view text) { return PtxLexer(text).Next().IsDirective(".version"); }

}  // namespace sgprs::simgpu
