// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/scenario.h"

#include <gtest/gtest.h>

#include <string>

namespace sgprs::model {
namespace {

constexpr const char* kTask = "[[tasks]]\nname = \"a\"\n";

std::string ErrorOf(const std::string& text) {
  const Result<ScenarioFile> file = ParseScenario(text, "f.toml");
  return file.ok() ? "" : file.status().text();
}

TEST(ScenarioTest, EveryShippedOneIsValidAndRuns) {
  ASSERT_GE(ShippedScenarios().size(), 5u);
  for (const ShippedScenario& shipped : ShippedScenarios()) {
    const Result<ScenarioFile> file = ParseScenario(shipped.text, shipped.name);
    ASSERT_TRUE(file.ok()) << file.status().text();
    EXPECT_EQ(file->scenario.name, shipped.name);
    EXPECT_FALSE(file->scenario.description.empty()) << shipped.name;
    EXPECT_GT(file->Expand().size(), 1u) << shipped.name;
    EXPECT_FALSE(file->Expand().back().Tasks().empty()) << shipped.name;
  }
}

TEST(ScenarioTest, TheHelpIsAScenario) {
  const Result<ScenarioFile> file = ParseScenario(ScenarioHelp(), "help");
  ASSERT_TRUE(file.ok()) << file.status().text();
  const Scenario defaults;
  EXPECT_EQ(file->scenario.policy, defaults.policy);
  EXPECT_EQ(file->scenario.warmup_ns, defaults.warmup_ns);
  EXPECT_EQ(file->scenario.horizon_ns, defaults.horizon_ns);
  EXPECT_EQ(file->scenario.n, defaults.n);
  EXPECT_EQ(file->scenario.oversubscription, defaults.oversubscription);
  ASSERT_EQ(file->scenario.groups.size(), 1u);
  EXPECT_EQ(file->scenario.groups[0].task.period_ns, 33'333'333u);
  EXPECT_TRUE(file->scenario.groups[0].task.random_phase);
  EXPECT_EQ(file->Expand().size(), 1u);
}

TEST(ScenarioTest, ErrorsNameTheLineTheKeyAndTheValue) {
  const struct {
    const char* text;
    const char* error;
  } kCases[] = {
      {"polcy = \"sgprs\"\n[[tasks]]\n", "f.toml:1: unknown key \"polcy\""},
      {"\npolicy = \"sgpr\"\n[[tasks]]\n", "f.toml:2: policy = sgpr: must be one of sgprs"},
      {"version = 2\n[[tasks]]\n", "f.toml:1: version = 2: must be 1"},
      {"horizon = 5\n[[tasks]]\n", "f.toml:1: horizon = 5: must be a duration"},
      {"horizon = \"5 parsecs\"\n[[tasks]]\n", "f.toml:1: horizon = 5 parsecs: "},
      {"[pool]\noversubscription = 99\n[[tasks]]\n",
       "f.toml:2: pool.oversubscription = 99: must be a number from 0.1 to 32"},
      {"[options]\nhigh_stages = \"many\"\n[[tasks]]\n", "f.toml:2: high_stages = many: "},
      {"[options]\nnonsense = 1\n[[tasks]]\n", "f.toml:2: "},
      {"[[tasks]]\nname = \"a\"\n\n[[tasks]]\nclass = \"urgent\"\n",
       "f.toml:5: tasks.class = urgent: must be high, low or best-effort"},
      {"[[tasks]]\nnetwork = \"vgg\"\n", "f.toml:2: tasks.network = vgg: must be one of resnet18"},
      {"[[tasks]]\ncount = -1\n", "f.toml:2: tasks.count = -1: must be \"N\" or a number"},
      {"[[tasks]]\n[sweep]\ntasks = { from = 3, to = 1 }\n", "f.toml:3: sweep.tasks = {...}: "},
      {"[[tasks]]\n[sweep]\nseeds = []\n", "f.toml:3: sweep.seeds = [...]: must"},
      {"tasks = 3\n", "f.toml:1: tasks is a list: write [[tasks]]"},
      {"pool = 3\n[[tasks]]\n", "f.toml:1: pool is a section: write [pool]"},
      {"seed = 3\n", "f.toml:1: no tasks: write at least one [[tasks]]"},
      {"seed = \n", "f.toml:1: "},
  };
  for (const auto& [text, error] : kCases) {
    EXPECT_EQ(ErrorOf(text).rfind(error, 0), 0u) << ErrorOf(text) << "\nfor\n" << text;
  }
}

TEST(ScenarioTest, ASweepIsEveryCombination) {
  const Result<ScenarioFile> file = ParseScenario(
      std::string("[[tasks]]\ncount = \"N\"\n[[tasks]]\nname = \"b\"\ncount = 2\n[sweep]\n") +
          "policies = [\"sgprs\", \"naive\"]\ntasks = { from = 1, to = 5, step = 2 }\nseeds = 2\n",
      "f.toml");
  ASSERT_TRUE(file.ok()) << file.status().text();
  const std::vector<Scenario> all = file->Expand();
  ASSERT_EQ(all.size(), 2u * 3 * 2);
  EXPECT_EQ(all[0].policy, "sgprs");
  EXPECT_EQ(all[0].seed, 1u);
  EXPECT_EQ(all[1].seed, 2u);
  EXPECT_EQ(all[2].n, 3u);
  EXPECT_EQ(all[6].policy, "naive");
  ASSERT_EQ(all[2].Tasks().size(), 5u);
  EXPECT_EQ(all[2].Tasks()[2].name, "task-2");
  EXPECT_EQ(all[2].Tasks()[4].name, "b-1");
}

TEST(ScenarioTest, AFileThatIsNotThere) {
  const Result<ScenarioFile> file = LoadScenario("/nonexistent/s.toml");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(ParseScenario(kTask, "f").ok());
}

}  // namespace
}  // namespace sgprs::model
