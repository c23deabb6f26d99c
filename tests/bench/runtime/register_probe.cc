// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <unistd.h>

#include <barrier>
#include <functional>
#include <memory>
#include <thread>

#include "runtime/base/clock.h"
#include "tests/bench/runtime/probes.h"
#include "tests/support/fake_shim.h"

namespace sgprs::bench {
namespace {

// `count` threads that begin `act` together; ns until the last is done. The shims live on
// meanwhile.
uint64_t AllAtOnce(uint64_t count, const std::function<Status(testing::FakeShim*)>& act) {
  std::vector<std::unique_ptr<testing::FakeShim>> shims;
  for (uint64_t i = 0; i < count; ++i) shims.push_back(std::make_unique<testing::FakeShim>());
  uint64_t start_ns = 0;
  std::barrier start(static_cast<ptrdiff_t>(count), [&start_ns]() noexcept { start_ns = NowNs(); });
  std::vector<uint64_t> end_ns(count);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      if (Status status = act(shims[i].get()); !status.ok()) Fail(status.text());
      end_ns[i] = NowNs();
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t last_ns = 0;
  for (const uint64_t ns : end_ns) last_ns = std::max(last_ns, ns);
  return last_ns - start_ns;
}

}  // namespace

uint64_t RegisterAtOnce(const std::string& socket, uint64_t count) {
  return AllAtOnce(count, [&socket](testing::FakeShim* shim) {
    return shim->Register(socket, testing::MakeHello("probe", 100 * kNsPerMs));
  });
}

uint64_t ConnectAtOnce(uint64_t count) {
  char directory[] = "/tmp/sgprs-bench-XXXXXX";
  if (mkdtemp(directory) == nullptr) Fail("no temporary directory");
  const std::string path = std::string(directory) + "/echo.sock";
  uint64_t ns = 0;
  {
    const EchoServer server(path, sizeof(SgprsWelcome));
    ns = AllAtOnce(count, [&path](testing::FakeShim* shim) {
      if (Status status = shim->Connect(path); !status.ok()) return status;
      if (!shim->Send(testing::MakeHello("probe"))) {
        return Status(ErrorCode::kUnavailable, "HELLO could not be sent");
      }
      return shim->Receive().size() == sizeof(SgprsWelcome)
                 ? Status::Ok()
                 : Status(ErrorCode::kUnavailable, "no answer");
    });
  }
  unlink(path.c_str());
  rmdir(directory);
  return ns;
}

}  // namespace sgprs::bench
