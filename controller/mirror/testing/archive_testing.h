// Helpers of the mirror's tests: a store with a mirror, and comparisons of both databases.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controller/mirror/mirror.h"
#include "controller/mirror/testing/postgres_cluster.h"
#include "controller/store/outbox/mirror_outbox.h"
#include "controller/store/outbox/mirror_tables.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::mirror {

// One cluster for all tests of a program, made at first use.
inline PostgresCluster& cluster() {
  static PostgresCluster one;
  return one;
}

class ArchiveTest : public testing::Test {
 protected:
  void SetUp() override {
    if (postgres_programs().empty()) GTEST_SKIP() << "no PostgreSQL server is installed";
    static int number = 0;
    url_ = cluster().make_database(fmt::format("archive{}", ++number));
  }
  // Opens a store whose changes are noted.
  static std::unique_ptr<store::Store> open_armed(const std::string& path) {
    auto opened = store::open_store(path);
    const Status armed = opened->write(store::arm_mirror);
    EXPECT_TRUE(armed) << armed.error().message;
    return opened;
  }
  [[nodiscard]] MirrorOptions options(const std::string& site) const {
    return {.url = url_, .site = site, .answer_seconds = 10, .trim_seconds = 0};
  }
  // Steps until the archive has all; false after too many.
  static bool drain(Mirror& mirror, store::Store& store, double now = 1.7e9) {
    for (int step = 0; step < 2'000; ++step) {
      const double pause = mirror.step(now);
      now += std::max(pause, 0.01);
      const auto state = store.read(store::read_mirror_state);
      if (pause > 0 && state && state->even_at > 0 && mirror.figures().waiting_rows == 0 &&
          mirror.figures().is_connected && mirror.figures().tables_left == 0)
        return true;
    }
    return false;
  }
  // One value of the archive as text.
  std::string ask(const std::string& sql) const {
    auto database = pq::Connection::open({.url = url_});
    if (!database) return database.error().message;
    const auto answer = (*database)->query(sql);
    if (!answer) return answer.error().message;
    return answer->rows() == 0 ? "no rows" : std::string(answer->text(0, 0));
  }
  // Tables whose numbers of rows differ from the store's, as "point 3 instead of 4".
  [[nodiscard]] std::string differences(const store::Store& store, int site = 1) const {
    std::string text;
    for (const store::MirrorTable& table : store::mirror_tables()) {
      const auto here = store.sql(fmt::format("SELECT count(*) FROM \"{}\"", table.name), 1, 10);
      // The audit trail is not for sql.
      if (!here || table.name == "audit") continue;
      const std::string there =
          ask(fmt::format("SELECT count(*) FROM railgauge.\"{}\" WHERE site={}", table.name, site));
      const std::string wanted = std::visit(
          [](const auto& value) -> std::string {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
              return fmt::format("{:.0f}", static_cast<double>(value));
            else
              return "";
          },
          here->rows[0][0]);
      if (there != wanted) text += fmt::format("{} {} instead of {}; ", table.name, there, wanted);
    }
    return text;
  }

  std::string url_;
  store::TempFolder folder_;
  std::vector<std::pair<std::string, std::string>> events_;
  Note note_ = [this](std::string kind, std::string text) {
    events_.emplace_back(std::move(kind), std::move(text));
  };
};

// A store of one site with its mirror.
class MirrorTest : public ArchiveTest {
 protected:
  void SetUp() override {
    ArchiveTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_armed(folder_.file("db"));
    mirror_ = make();
  }
  std::unique_ptr<Mirror> make(const std::string& site = "east") {
    return std::make_unique<Mirror>(options(site), *store_, note_, [] { return false; });
  }
  void measure(const std::string& run_id, int tasks) {
    store::plan_run(*store_, run_id, tasks);
    for (int task = 1; task <= tasks; ++task)
      store::append_passed(*store_, {.run_id = run_id, .task_id = fmt::format("t{:04}", task)});
  }
  void reopen_without_mirror() {
    mirror_.reset();
    store_.reset();
    store_ = store::open_store(folder_.file("db"));
    ASSERT_TRUE(store_->write(store::disarm_mirror));
  }
  void reopen_armed() {
    mirror_.reset();
    store_.reset();
    store_ = open_armed(folder_.file("db"));
    mirror_ = make();
  }
  void expect_same() {
    ASSERT_TRUE(drain(*mirror_, *store_));
    EXPECT_EQ(differences(*store_), "");
  }

  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Mirror> mirror_;
};

}  // namespace railgauge::mirror
