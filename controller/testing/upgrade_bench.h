// A store with synthetic points of an upgrade: nodes on a ring, of which the first half is
// upgraded.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"
#include "controller/upgrades/upgrade_judge.h"
#include "controller/verdict/testing/simulate.h"

namespace railgauge::testing_upgrade {

using store::At;
using store::NodeRow;
using store::TaskRow;

inline constexpr int kNodes = 8;  // the first four are upgraded
inline constexpr int kRepetitions = 5;
inline constexpr double kLevelNs = 1'500;

class UpgradeJudge : public store::StoreTest {
 protected:
  void SetUp() override {
    for (int node = 1; node <= kNodes; ++node) put(node, "6.1.0", "1");
    measure("before", 0);
    store::UpgradeRow row{.upgrade_id = "u1", .suite = "upgrade", .runs = {{.run_id = "before"}}};
    for (int node = 1; node <= kNodes; ++node) {
      const std::string id = fmt::format("id-{}", node);
      row.nodes.push_back({.node_id = id,
                           .changed = node <= kNodes / 2,
                           .stack_before = store_->read(store::read_epochs, id, 1)->at(0).stack});
    }
    ASSERT_TRUE(store_->write(store::write_upgrade, row));
    for (int node = 1; node <= kNodes / 2; ++node) put(node, "6.5.0", "2");
  }
  void put(int number, const std::string& kernel, const std::string& firmware) {
    NodeRow node = store::node_row(number);
    node.facts = {{"linux_kernel", kernel}, {"nic_firmware", firmware}};
    if (number <= kNodes / 2) node.endpoints[0].device = changed_device_;
    ASSERT_TRUE(store_->put_node(node));
    ASSERT_TRUE(store_->flush());
  }
  [[nodiscard]] TaskRow task(int pair, int repetition) const {
    const int other = pair % kNodes + 1;
    const auto endpoint = [this](int node) {
      return (node <= kNodes / 2 ? changed_device_ : "rxe0") + ":1";
    };
    return {.task_id = fmt::format("t{}-{}", repetition, pair),
            .kernel = "verbs.write_lat",
            .parameters = {{"sizes", "8"}},
            .identity_parameters = {},
            .ranks = {{.node_id = fmt::format("id-{}", pair),
                       .node = fmt::format("n{}", pair),
                       .endpoint = endpoint(pair)},
                      {.node_id = fmt::format("id-{}", other),
                       .node = fmt::format("n{}", other),
                       .endpoint = endpoint(other)}},
            .deadline_seconds = 30};
  }
  // A ring of all nodes, five launches each; pairs with an upgraded node are slower by `loss`.
  void measure(const std::string& run_id, double loss,
               const std::string& outcome_of_first = "passed", const std::string& reason = "") {
    std::vector<TaskRow> tasks;
    for (int repetition = 1; repetition <= kRepetitions; ++repetition)
      for (int pair = 1; pair <= kNodes; ++pair) tasks.push_back(task(pair, repetition));
    store::RunRow run = store::run_row(run_id);
    run.trigger = "upgrade";
    if (!suite_text_.empty()) run.suite_text = suite_text_;
    ASSERT_TRUE(store_->create_run(run, tasks));
    analysis::Chance chance(run_id == "before" ? 1 : 2);
    for (const TaskRow& one : tasks) {
      const int pair = one.task_id.back() - '0';
      const bool changed = pair <= kNodes / 2 || pair == kNodes;
      const double median = kLevelNs * (1 + 0.003 * chance.normal()) * (1 + (changed ? loss : 0));
      tenth_ = changed ? 1.2 * (1 + tail_loss_) : 1.2;
      const bool first = one.task_id == "t1-1";
      deliver(run_id, one, median, first ? outcome_of_first : "passed", first ? reason : "");
    }
    ASSERT_TRUE(store_->update_run(
        {.run_id = run_id, .state = store::RunState::kEnded, .outcome = "passed"}));
    ASSERT_TRUE(store_->flush());
  }
  void deliver(const std::string& run_id, const TaskRow& task, double median,
               const std::string& outcome, const std::string& reason) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const At at{.run_id = run_id, .task_id = task.task_id, .attempt = 1, .rank = rank};
      std::vector<Record> records{store::started_record(at)};
      records[0].mutable_started()->set_endpoint(task.ranks[rank].endpoint);
      if (rank == 0 && outcome == "passed") {
        Record point = store::point_record(at, 1, median);
        point.mutable_point()->set_synthetic(true);
        if (!tails_.contains("p99")) point.mutable_point()->clear_p99();
        if (tails_.contains("p90")) point.mutable_point()->set_p90(median * tenth_);
        records.push_back(std::move(point));
      }
      records.push_back(store::final_record(at, 2, outcome, reason));
      ASSERT_TRUE(store::append(*store_, task.ranks[rank].node_id, std::move(records)));
    }
  }
  api::Upgrade judge(const std::string& run_id) {
    EXPECT_TRUE(store_->write(store::write_upgrade_after, "u1", run_id, true));
    const auto judged = judge_and_keep(*store_, "u1", 2e9);
    EXPECT_TRUE(judged) << judged.error().message;
    return judged.value_or(api::Upgrade());
  }
  std::set<std::string> tails_;  // that points have
  double tail_loss_ = 0;         // of the changed pairs' p90
  double tenth_ = 1.2;           // p90 over median
  std::string suite_text_;
  std::string changed_device_ = "rxe0";  // of the upgraded nodes' port
  static std::string golden_text(const api::Upgrade& upgrade) {
    std::string text = fmt::format("{} {}\n", upgrade.verdict(), upgrade.kind());
    for (const api::JudgedMetric& metric : upgrade.metrics())
      text += fmt::format("{}: {} {:+.2f} ({:+.2f} to {:+.2f}) {}+{} nodes, {} places\n",
                          metric.name(), metric.verdict(), metric.worse_percent(),
                          metric.low_percent(), metric.high_percent(), metric.changed_nodes(),
                          metric.control_nodes(), metric.places_size());
    for (const api::UpgradeCause& cause : upgrade.causes())
      text += fmt::format("cause {}: {} of {}, without {} of {}, explains {}\n",
                          fmt::join(cause.changes(), "; "), cause.exposed_worse(), cause.exposed(),
                          cause.unexposed_worse(), cause.unexposed(), cause.explains());
    return text;
  }
};

}  // namespace railgauge::testing_upgrade
