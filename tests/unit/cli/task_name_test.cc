// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/task_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sgprs::cli {
namespace {

using Words = std::vector<std::string>;

TEST(DefaultTaskName, IsTheProgramsFileName) {
  EXPECT_EQ(DefaultTaskName({"/opt/bin/detector", "net.py"}), "detector");
  EXPECT_EQ(DefaultTaskName({"pythonic", "net.py"}), "pythonic");
}

TEST(DefaultTaskName, OfAPythonIsTheScripts) {
  for (const Words& words :
       {Words{"python", "net.py"}, Words{"/usr/bin/python3.11", "-u", "dir/net.py", "other.py"},
        Words{"python3", "-W", "ignore", "-OO", "net.py"}, Words{"python3", "-Wignore", "net.py"},
        Words{"python3", "-X", "dev", "--", "net.py"}, Words{"python3", "-uX", "dev", "net.py"},
        Words{"python3", "--check-hash-based-pycs", "always", "net.py"},
        Words{"python3", "-m", "net", "other.py"}, Words{"python3", "-um", "net"},
        Words{"python3", "-mnet"}, Words{"python3", "net"}}) {
    EXPECT_EQ(DefaultTaskName(words), "net") << words[1];
  }
}

TEST(DefaultTaskName, OfAPythonWithoutAScriptIsThePythons) {
  for (const Words& words :
       {Words{"python3"}, Words{"python3", "-"}, Words{"python3", "-c", "net.py"},
        Words{"python3", "-m"}, Words{"python3", "-W"}, Words{"python3", ".py"},
        Words{"python3", "."}, Words{"python3", "dir/"}, Words{"python3", "a\nb.py"},
        Words{"python3", std::string(100, 'n')}}) {
    EXPECT_EQ(DefaultTaskName(words), "python3");
  }
}

}  // namespace
}  // namespace sgprs::cli
