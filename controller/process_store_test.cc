// The program and its database: what it finds there when it starts, and what an export costs it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/archive.grpc.pb.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"
#include "controller/testing/controller_process.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using Process = testing_agent::ControllerProcess;

class ProcessStoreTest : public testing::Test {
 protected:
  testing_agent::ServerBench bench_;
};

// A database that cannot be used ends the controller with exit code 4 and one line. The file stays
// unchanged.
TEST_F(ProcessStoreTest, ADatabaseThatCannotBeUsedIsOneLineThatNamesItAndExitCode4) {
  { ASSERT_TRUE(store::open_store(bench_.config_.database)); }
  const auto size = std::filesystem::file_size(bench_.config_.database);
  const auto overwrite = [](const std::string& path, std::uintmax_t at, std::size_t count) {
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
        .seekp(static_cast<std::streamoff>(at))
        .write(std::string(count, '\xa5').data(), static_cast<std::streamsize>(count));
  };
  struct Case {
    std::string name;
    std::function<void(const std::string& path)> damage;
    std::string told;
  };
  const std::vector<Case> cases{
      {"no database", [&](const std::string& path) { overwrite(path, 0, 100); }, "not a database"},
      {"truncated", [&](const std::string& path) { std::filesystem::resize_file(path, size / 3); },
       "malformed"},
      {"its schema's page is damaged",
       [&](const std::string& path) { overwrite(path, 100, 3'000); }, "malformed"},
      {"of a newer program",
       [](const std::string& path) {
         ASSERT_TRUE(store::Connection::open(path, store::Connection::Mode::kCreate, 1)
                         ->script("PRAGMA user_version=999"));
       },
       "newer Railgauge"},
      {"a folder",
       [](const std::string& path) {
         std::filesystem::remove(path);
         std::filesystem::create_directory(path);
       },
       "unable to open"}};
  const std::string whole = bench_.config_.database;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    bench_.config_.database = bench_.path(one.name);
    std::filesystem::copy_file(whole, bench_.config_.database);
    one.damage(bench_.config_.database);
    Process controller(bench_, {});
    EXPECT_EQ(controller.wait(), 4);
    const std::string told = controller.error_text();
    EXPECT_THAT(told, testing::AllOf(HasSubstr(one.name), HasSubstr(one.told)));
    EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
  }
}

TEST_F(ProcessStoreTest, ALockedDatabaseIsWaitedForAndThenToldAtTheStart) {
  { ASSERT_TRUE(store::open_store(bench_.config_.database)); }
  auto stranger =
      store::Connection::open(bench_.config_.database, store::Connection::Mode::kCreate, 1);
  ASSERT_TRUE(stranger && stranger->script("BEGIN IMMEDIATE"));
  Process controller(bench_, {});
  EXPECT_EQ(controller.wait(), 4);
  EXPECT_THAT(controller.error_text(), HasSubstr("locked; another program holds its lock"));
  ASSERT_TRUE(stranger->script("ROLLBACK"));
  Process again(bench_, {});
  EXPECT_TRUE(again.wait_until_serving()) << again.error_text();
}

// Page after page: what is exported is never in memory as a whole.
TEST_F(ProcessStoreTest, AnExportOfManyPointsTakesNoMoreMemoryThanOneOfFew) {
  constexpr std::uint32_t kTasks = 100;
  constexpr std::uint32_t kPoints = 4'000;  // of each
  {
    auto store = store::open_store(bench_.config_.database);
    store::plan_run(*store, "r1", kTasks);
    for (std::uint32_t task = 1; task <= kTasks; ++task) {
      const store::At at{.task_id = fmt::format("t{:04}", task)};
      std::vector<Record> records{store::started_record(at)};
      for (std::uint32_t i = 1; i <= kPoints; ++i) {
        records.push_back(store::point_record(at, i));
        records.back().mutable_point()->clear_histogram();
      }
      records.push_back(store::final_record(at, kPoints + 1, "passed"));
      ASSERT_TRUE(store::append(*store, "id-1", std::move(records)));
    }
  }
  Process controller(bench_, {});
  ASSERT_TRUE(controller.wait_until_serving()) << controller.error_text();
  const auto archive = api::Archive::NewStub(
      grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  double bytes = 0;
  const auto exported = [&](std::uint32_t limit) {
    grpc::ClientContext context;
    api::PointsRequest request;
    request.set_run_id("all");
    request.set_limit(limit);
    const auto stream = archive->ExportPoints(&context, request);
    std::uint32_t points = 0;
    for (api::ResultList page; stream->Read(&page);) {
      points += static_cast<std::uint32_t>(page.points_size());
      bytes += static_cast<double>(page.ByteSizeLong());
    }
    EXPECT_TRUE(stream->Finish().ok());
    return points;
  };
  EXPECT_EQ(exported(10'000), 10'000U);
  const double few = controller.resident_bytes();
  bytes = 0;
  EXPECT_EQ(exported(0), kTasks * kPoints);
  const double more = controller.resident_bytes() - few;
  RecordProperty("more_bytes", fmt::format("{} of {}", more, bytes));
  // As messages in memory all of it would take several times its bytes on the wire.
  EXPECT_LT(more, 1.5 * bytes)
      << "each thread that took part keeps SQLite's pages and a page of points";
}

}  // namespace
}  // namespace railgauge
