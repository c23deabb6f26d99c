// SPDX-License-Identifier: Apache-2.0
// shim_order: runs random programs (--repeat: each so many times, every time a job) and prints one
// line each, "SEED CHECKSUM ok|DIFFERS". Exit code 0: all as computed on the host; 1: some differ;
// 2: usage; 3: the driver answered with an error.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "sgprs/sgprs.h"
#include "tests/stress/shim_order/program.h"
#include "tests/stress/shim_order/runner.h"

namespace {

using namespace shim_order;  // NOLINT(google-build-using-namespace)

struct Options {
  uint64_t seed = 1;
  int programs = 1;
  int threads = 3;
  int length = 120;
  bool list = false;
  int repeat = 1;
  bool order = false;
  RunOptions run;
};

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    bool* flag = std::strcmp(argv[i], "--list") == 0            ? &options->list
                 : std::strcmp(argv[i], "--order") == 0         ? &options->order
                 : std::strcmp(argv[i], "--named") == 0         ? &options->run.named
                 : std::strcmp(argv[i], "--without-waits") == 0 ? &options->run.without_waits
                                                                : nullptr;
    if (flag != nullptr) {
      *flag = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    const char* name = argv[i++];
    if (std::strcmp(name, "--seed") == 0) {
      options->seed = value;
    } else if (std::strcmp(name, "--programs") == 0) {
      options->programs = static_cast<int>(value);
    } else if (std::strcmp(name, "--threads") == 0) {
      options->threads = static_cast<int>(value);
    } else if (std::strcmp(name, "--repeat") == 0) {
      options->repeat = static_cast<int>(value);
    } else if (std::strcmp(name, "--length") == 0) {
      options->length = static_cast<int>(value);
    } else {
      return false;
    }
  }
  return options->threads >= 1 && options->threads <= kMostThreads && options->length <= 1000;
}

void List(const Program& program) {
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    std::printf("%4zu thread %d %-14s stream %d event %d module %d to %d from %d a %u b %u", i,
                op.thread, NameOf(op.kind), op.stream, op.event, op.module, op.to, op.from, op.a,
                op.b);
    for (int other : op.awaits) std::printf(" await %d", other);
    std::printf("\n");
  }
}

// "B: A A A": launch B begins after the launches A are over.
void Order(const Program& program) {
  for (size_t i = 0; i < program.ops.size(); ++i) {
    if (program.ops[i].kind != OpKind::kLaunch) continue;
    std::printf("%zu:", i);
    for (int before : program.after[i]) std::printf(" %d", before);
    std::printf("\n");
  }
}

void Explain(const Program& program, const Results& got, const Results& wanted) {
  for (int b = 0; b < kAllBuffers; ++b) {
    if (got.buffers[b] != wanted.buffers[b]) std::printf("  buffer %d differs at the end\n", b);
  }
  for (size_t i = 0; i < got.reads.size(); ++i) {
    if (got.reads[i] == wanted.reads[i]) continue;
    std::printf("  operation %zu, thread %d, reads something else in buffer %d\n", i,
                program.ops[i].thread, program.ops[i].from);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: shim_order [--seed N] [--programs K] [--threads 1..%d] "
                 "[--length OPERATIONS] [--repeat TIMES] [--named] [--without-waits] [--list] "
                 "[--order]\n",
                 kMostThreads);
    return 2;
  }
  if (!options.list && !options.order) OpenDevice();
  bool all_good = true;
  for (uint64_t seed = options.seed; seed < options.seed + options.programs; ++seed) {
    const Program program = Generate(seed, options.threads, options.length);
    if (options.list) List(program);
    if (options.order) Order(program);
    if (options.list || options.order) continue;
    const Results wanted = Interpret(program);
    Results got;
    bool good = true;
    for (int i = 0; good && i < options.repeat; ++i) {
      sgprs_job_begin();
      got = Run(program, options.run);
      good = Checksum(got) == Checksum(wanted);
    }
    std::printf("%" PRIu64 " %016" PRIx64 " %s\n", seed, Checksum(got), good ? "ok" : "DIFFERS");
    if (!good) Explain(program, got, wanted);
    std::fflush(stdout);
    all_good = all_good && good;
  }
  return all_good ? 0 : 1;
}
