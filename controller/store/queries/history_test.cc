// The stored history of nodes, and matrices.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/queries/queries.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class History : public StoreTest {
 protected:
  void put(const NodeRow& node) {
    ASSERT_TRUE(store_->put_node(node));
    ASSERT_TRUE(store_->flush());
  }
  std::int64_t count(std::string_view sql) {
    auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
    EXPECT_TRUE(connection);
    const auto value = connection->integer(sql);
    EXPECT_TRUE(value) << value.error().message;
    return value && *value ? **value : -1;
  }
};

TEST_F(History, AChangedStackOpensAnEpochAndSaysHow) {
  NodeRow node = node_row(1);
  put(node);
  put(node);
  EXPECT_EQ(count("SELECT count(*) FROM epoch"), 1) << "nothing changed";
  node.facts["linux_kernel"] = "6.5.0";
  node.settings["max_read_request_bytes"] = "4096";
  put(node);
  EXPECT_EQ(count("SELECT count(*) FROM epoch"), 2);
  EXPECT_EQ(count("SELECT count(*) FROM epoch WHERE valid_to IS NULL AND cause='stack_changed'"),
            1);
  const auto events = store_->list_events(1);
  ASSERT_TRUE(events);
  EXPECT_EQ(events->at(0).kind, "stack_changed");
  EXPECT_EQ(events->at(0).text,
            "n1: linux_kernel 6.1.0 -> 6.5.0; max_read_request_bytes none -> 4096");
}

TEST_F(History, WhatCouldNotBeReadOpensNoEpochAndKeepsItsValue) {
  NodeRow node = node_row(1);
  node.settings["acs"] = "unknown";
  put(node);
  node.settings["acs"] = "off";
  put(node);
  EXPECT_EQ(count("SELECT count(*) FROM epoch"), 1) << "it is known for the first time";
  EXPECT_EQ(store_->list_nodes()->at(0).settings.at("acs"), "off");
  node.settings["acs"] = "unknown";
  node.facts.clear();
  node.stack_incomplete = true;
  put(node);
  EXPECT_EQ(count("SELECT count(*) FROM epoch"), 1);
  EXPECT_EQ(store_->list_nodes()->at(0).settings.at("acs"), "off");
  EXPECT_EQ(store_->list_nodes()->at(0).facts.at("linux_kernel"), "6.1.0");
}

TEST_F(History, ANulInAPartIsNoChangeAtEachAttach) {
  NodeRow node = node_row(1);
  node.facts[std::string("a\0b", 3)] = std::string("x\0y", 3);
  node.stack_incomplete = true;
  put(node);
  put(node);
  EXPECT_EQ(count("SELECT count(*) FROM epoch"), 1);
  EXPECT_EQ(store_->list_nodes()->at(0).facts.at("a?b"), "x?y");
}

TEST_F(History, AStackThatWasThereBeforeIsARollback) {
  NodeRow node = node_row(1);
  put(node);
  node.facts["linux_kernel"] = "6.5.0";
  put(node);
  node.facts["linux_kernel"] = "6.1.0";
  put(node);
  EXPECT_EQ(count("SELECT count(*) FROM epoch"), 3);
  EXPECT_THAT(store_->list_events(1)->at(0).text,
              HasSubstr("linux_kernel 6.5.0 -> 6.1.0; rolled back: the same stack as until 2"));
}

TEST_F(History, ReplacedHardwareAndANewStackAreEventsOfTheirOwn) {
  NodeRow node = node_row(1);
  node.endpoints[0].guid = "aa";
  node.facts["nic_firmware"] = "28.41";
  put(node);
  node.endpoints[0].guid = "bb";
  node.facts["nic_firmware"] = "28.43";
  put(node);
  EXPECT_EQ(count("SELECT count(*) FROM epoch"), 2);
  const auto events = store_->list_events(2);
  ASSERT_TRUE(events);
  EXPECT_EQ(events->at(0).kind, "stack_changed");
  EXPECT_EQ(events->at(0).text, "n1: nic_firmware 28.41 -> 28.43");
  EXPECT_EQ(events->at(1).kind, "hardware_replaced");
  EXPECT_EQ(events->at(1).text, "n1: rxe0:1 aa -> bb");
}

TEST_F(History, WhatDescribesANodeIsNoPartOfItsStack) {
  NodeRow node = node_row(1);
  node.described["cpu"] = "x";
  put(node);
  node.described["cpu"] = "y";
  put(node);
  EXPECT_EQ(count("SELECT count(*) FROM epoch"), 1);
  EXPECT_EQ(store_->list_nodes()->at(0).described.at("cpu"), "y");
  EXPECT_EQ(store_->list_nodes()->at(0).facts.at("linux_kernel"), "6.1.0");
}

TEST_F(History, AnotherGuidInTheSlotIsReplacedHardwareAndANewEpoch) {
  NodeRow node = node_row(1);
  node.endpoints[0].guid = "aa";
  put(node);
  node.endpoints[0].guid = "bb";
  put(node);
  EXPECT_EQ(count("SELECT count(*) FROM epoch WHERE cause='hardware_replaced'"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM endpoint"), 1) << "the slot stays what it was";
  EXPECT_THAT(store_->list_events(1)->at(0).text, HasSubstr("rxe0:1 aa -> bb"));
}

TEST_F(History, RailsAreThePositionsOfTheNodesNics) {
  NodeRow node = node_row(1);
  node.endpoints[0].pci_address = "0000:9a:00.0";
  node.endpoints.push_back(node.endpoints[0]);
  node.endpoints[1].device = "rxe1";
  node.endpoints[1].pci_address = "0000:1b:00.0";
  put(node);
  EXPECT_EQ(count("SELECT rail FROM endpoint WHERE slot='0000:1b:00.0'"), 0);
  EXPECT_EQ(count("SELECT rail FROM endpoint WHERE slot='0000:9a:00.0'"), 1);
}

// A loopback task on n1's port with the GPU of that name, passed.
void measure_loopback(Store& store, const std::string& run_id, const std::string& gpu) {
  TaskRow task = pair_tasks(1).front();
  task.ranks = {{.node_id = "id-1", .node = "n1", .endpoint = "rxe0:1+" + gpu},
                {.node_id = "id-1", .node = "n1", .endpoint = "rxe0:1+" + gpu}};
  ASSERT_TRUE(store.create_run(run_row(run_id), std::vector<TaskRow>{task}));
  for (const std::uint32_t rank : {1U, 0U}) {
    const At at{.run_id = run_id, .rank = rank};
    Record started = started_record(at);
    started.mutable_started()->set_endpoint("rxe0:1+" + gpu);
    ASSERT_TRUE(
        append(store, "id-1", {started, point_record(at, 1), final_record(at, 2, "passed")}));
  }
}

NodeRow node_with_gpus(const std::vector<std::string>& slots) {
  NodeRow node = node_row(1);
  for (std::size_t i = 0; i < slots.size(); ++i)
    node.endpoints.push_back(
        {.kind = "gpu", .device = fmt::format("gpu{}", i), .pci_address = slots[i]});
  return node;
}

TEST_F(History, APortWithAGpuIsASeriesByTheGpusSlotWhateverItsNumber) {
  put(node_with_gpus({"0000:17:00.0", "0000:9f:00.0"}));
  measure_loopback(*store_, "r1", "gpu1");
  put(node_with_gpus({"0000:9f:00.0"}));  // the other GPU fell off the bus
  measure_loopback(*store_, "r2", "gpu0");
  ASSERT_TRUE(store_->flush());
  EXPECT_EQ(count("SELECT count(*) FROM series WHERE rank=0"), 1) << "the same GPU";
  EXPECT_EQ(count("SELECT count(*) FROM endpoint WHERE gpu_slot='0000:9f:00.0'"), 1);
  const auto series = store_->list_series({.run_id = "all", .endpoint = "rxe0:1"});
  ASSERT_TRUE(series) << series.error().message;
  ASSERT_EQ(series->size(), 2u) << "a series for each reporting rank, found by its port";
  EXPECT_THAT(series->at(0).endpoints, ElementsAre("n1/rxe0:1+gpu0", "n1/rxe0:1+gpu0"));
  EXPECT_EQ(store_->list_series({.run_id = "all", .endpoint = "gpu0"})->size(), 2u) << "and GPU";
  EXPECT_EQ(store_->list_series({.run_id = "all", .endpoint = "rxe1:1"})->size(), 0u);
  const auto results = store_->results({.run_id = "r2", .endpoint = "gpu0"});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(results->size(), 2u);
}

PairMatrixRow matrix() {
  return {.run_id = "r1",
          .rail = 2,
          .kernel = "verbs.write_bw",
          .metric = "bandwidth_bytes_per_second",
          .message_bytes = 65536,
          .unit = "bytes_per_second",
          .larger_is_better = true,
          .endpoints = {"n1/rxe0:1", "n2/rxe0:1"},
          .values = {NAN, 12.5F, 11.25F, NAN},
          .outliers = {{.from = 1, .to = 0, .value = 11.25, .expected = 12.5}}};
}

TEST_F(History, AMatrixComesBackAndASecondOneReplacesIt) {
  plan_run(*store_, "r1", 1);
  PairMatrixRow given = matrix();
  ASSERT_TRUE(store_->put_pair_matrix(given));
  given.values[1] = 13;
  ASSERT_TRUE(store_->put_pair_matrix(given));
  EXPECT_EQ(count("SELECT count(*) FROM pair_matrix"), 1);
  const auto back = store_->pair_matrix({.run_id = "r1", .rail = 2});
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_THAT(back->endpoints, ElementsAre("n1/rxe0:1", "n2/rxe0:1"));
  EXPECT_TRUE(std::isnan(back->values[0]));
  EXPECT_EQ(back->values[1], 13);
  std::vector<std::string> told;
  ASSERT_TRUE(store_->visit_pair_matrix(
      {.run_id = "r1"},
      [&told](const PairMatrixRow& head, std::size_t from, std::size_t to, float value) {
        told.push_back(
            fmt::format("{} {} {} {}", head.rail, head.endpoints[from], head.endpoints[to], value));
      }));
  EXPECT_THAT(told, ElementsAre("2 n1/rxe0:1 n2/rxe0:1 13", "2 n2/rxe0:1 n1/rxe0:1 11.25"));
  ASSERT_EQ(back->outliers.size(), 1u);
  EXPECT_EQ(back->outliers[0].expected, 12.5);
  EXPECT_EQ(store_->pair_matrix({.run_id = "r1", .rail = 3}).error().code, Code::kNotFound);
}

// Whoever reads finds none of a run's matrices or the whole.
TEST_F(History, ARunsMatricesComeAndAreReplacedTogether) {
  plan_run(*store_, "r1", 1);
  std::vector<PairMatrixRow> given{matrix(), matrix(), matrix()};
  given[1].rail = 3;
  given[2].rail = 4;
  ASSERT_TRUE(store_->put_pair_matrices("r1", given));
  EXPECT_EQ(store_->pair_matrices("r1")->size(), 3u);
  std::vector<PairMatrixRow> broken{matrix(), matrix()};
  broken[0].rail = 7;
  broken[1].values.pop_back();
  EXPECT_EQ(store_->put_pair_matrices("r1", broken).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store_->pair_matrices("r1")->size(), 3u) << "what stood there still does";
  EXPECT_EQ(store_->pair_matrix({.run_id = "r1", .rail = 7}).error().code, Code::kNotFound);
  given.pop_back();
  ASSERT_TRUE(store_->put_pair_matrices("r1", given));
  EXPECT_EQ(store_->pair_matrices("r1")->size(), 2u);
  EXPECT_EQ(count("SELECT count(*) FROM pair_outlier"), 2);
  EXPECT_EQ(store_->put_pair_matrices("nowhere", {}).error().code, Code::kNotFound);
  given[0].run_id = "r2";
  EXPECT_EQ(store_->put_pair_matrices("r1", given).error().code, Code::kInvalidArgument);
}

PartLevelsRow part_levels(std::string run_id, std::uint32_t nodes = 20) {
  return {.run_id = std::move(run_id),
          .kernel = "verbs.write_bw",
          .metric = "bandwidth_bytes_per_second",
          .message_bytes = 65536,
          .nodes = nodes,
          .body = std::string("with\0zero", 9)};
}

TEST_F(History, LevelsOfPartsComeWithThoseOfEarlierRunsOfTheSuite) {
  for (int i = 1; i <= 6; ++i) {
    RunRow run = run_row(fmt::format("r{}", i));
    run.suite = i == 2 ? "another" : "nightly";
    run.created_at = 100.0 + i;
    ASSERT_TRUE(store_->create_run(run, {}));
    const std::uint32_t nodes = i == 3 ? 9 : i == 4 ? 10 : 20;
    ASSERT_TRUE(store_->write(write_part_levels, run.run_id, {part_levels(run.run_id, nodes)}));
  }
  const auto read = [&](const std::string& run_id, std::uint32_t limit) {
    std::vector<std::string> ids;
    const auto rows = store_->read(read_part_levels, part_levels(run_id), limit);
    EXPECT_TRUE(rows) << rows.error().message;
    for (const PartLevelsRow& row : *rows) ids.push_back(row.run_id);
    return ids;
  };
  EXPECT_THAT(read("r5", 10), ElementsAre("r1", "r4", "r5"))
      << "r3 had less than half of the nodes";
  EXPECT_THAT(read("r5", 2), ElementsAre("r4", "r5"));
  EXPECT_THAT(read("nowhere", 10), testing::IsEmpty());
  const auto own = store_->read(read_part_levels, part_levels("r1"), 10);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->front().body, part_levels("r1").body);
  EXPECT_EQ(own->front().created_at, 101);
  ASSERT_TRUE(store_->write(write_part_levels, "r5", {}));
  EXPECT_THAT(read("r6", 10), ElementsAre("r1", "r4", "r6")) << "those of r5 were replaced by none";
  EXPECT_EQ(store_->write(write_part_levels, "nowhere", {}).error().code, Code::kNotFound);
}

TEST_F(History, EarlierLevelsAreThoseOfAnySuiteButOfNoProof) {
  for (int i = 1; i <= 5; ++i) {
    RunRow run = run_row(fmt::format("r{}", i));
    run.suite = i == 2 ? "another" : "nightly";
    if (i == 3) run.trigger = "prove";
    ASSERT_TRUE(store_->create_run(run, {}));
    ASSERT_TRUE(store_->write(write_part_levels, run.run_id, {part_levels(run.run_id, 4 * i)}));
  }
  const auto read = [&](std::uint32_t limit) {
    std::vector<std::string> ids;
    const auto rows = store_->read(read_earlier_part_levels, part_levels("r5"), limit);
    EXPECT_TRUE(rows) << rows.error().message;
    for (const PartLevelsRow& row : *rows) ids.push_back(row.run_id);
    return ids;
  };
  EXPECT_THAT(read(10), ElementsAre("r1", "r2", "r4"));
  EXPECT_THAT(read(2), ElementsAre("r2", "r4"));
}

// Runs of a few nodes by hand push no nights out of a proof's past.
TEST_F(History, EarlierLevelsOfNightsComeBeforeThoseOfOtherRuns) {
  for (int i = 1; i <= 5; ++i) {
    RunRow run = run_row(fmt::format("r{}", i));
    run.trigger = i <= 2 ? "schedule" : "cli";
    ASSERT_TRUE(store_->create_run(run, {}));
    ASSERT_TRUE(store_->write(write_part_levels, run.run_id, {part_levels(run.run_id)}));
  }
  const auto rows = store_->read(read_earlier_part_levels, part_levels("r5"), 3U);
  ASSERT_TRUE(rows && rows->size() == 3);
  EXPECT_EQ((*rows)[0].run_id, "r1");
  EXPECT_EQ((*rows)[1].run_id, "r2");
  EXPECT_EQ((*rows)[2].run_id, "r4");
}

TEST_F(History, DamagedLevelsOfAnEarlierRunAreLeftOut) {
  for (const char* id : {"r1", "r2"}) {
    ASSERT_TRUE(store_->create_run(run_row(id), {}));
    ASSERT_TRUE(store_->write(write_part_levels, id, {part_levels(id)}));
  }
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kCreate, 1);
  ASSERT_TRUE(connection);
  ASSERT_TRUE(connection->execute("UPDATE part_levels SET body=x'0102' WHERE run=1"));
  EXPECT_THAT(*store_->read(read_part_levels, part_levels("r2"), 10), testing::SizeIs(1));
  EXPECT_EQ(store_->read(read_part_levels, part_levels("r1"), 10).error().code, Code::kDataLoss);
}

// 150 rows are three frames, of which a block needs one to three.
TEST_F(History, ABlockOfAMatrixWithAnOverviewIsReadWithoutTheRest) {
  plan_run(*store_, "r1", 1);
  constexpr std::size_t kCount = 150;
  PairMatrixRow given = matrix();
  given.endpoints.clear();
  given.outliers.clear();
  given.values.assign(kCount * kCount, NAN);
  for (std::size_t i = 0; i < kCount; ++i) {
    given.endpoints.push_back(fmt::format("n{}/rxe0:1", i));
    for (std::size_t j = 0; j < kCount; ++j)
      if (i != j) given.values[i * kCount + j] = static_cast<float>(1000 * i + j);
  }
  given.overview = std::string("what\0is coarse", 14);
  ASSERT_TRUE(store_->put_pair_matrix(given));
  const PairMatrixKey key{.run_id = "r1"};
  EXPECT_EQ(*store_->read(read_matrix_overview, key), given.overview);
  for (const MatrixBlock& block :
       {MatrixBlock{0, 1, 0, 1}, MatrixBlock{63, 2, 149, 1}, MatrixBlock{10, 130, 7, 50},
        MatrixBlock{149, 1, 0, 150}, MatrixBlock{150, 0, 3, 0}}) {
    const auto values = store_->read(read_matrix_block, key, block);
    ASSERT_TRUE(values) << values.error().message;
    ASSERT_EQ(values->size(), block.rows * block.columns);
    for (std::size_t i = 0; i < values->size(); ++i) {
      const std::size_t row = block.row + i / block.columns;
      const std::size_t column = block.column + i % block.columns;
      const float wanted = given.values[row * kCount + column];
      EXPECT_TRUE((*values)[i] == wanted || (std::isnan(wanted) && std::isnan((*values)[i])));
    }
  }
  for (const MatrixBlock& block : {MatrixBlock{0, 151, 0, 1}, MatrixBlock{150, 1, 0, 1},
                                   MatrixBlock{0, 1, 149, 2}, MatrixBlock{SIZE_MAX, 2, 0, 1}})
    EXPECT_EQ(store_->read(read_matrix_block, key, block).error().code, Code::kInvalidArgument);
  const auto whole = store_->pair_matrix(key);
  ASSERT_TRUE(whole) << "whoever reads the whole need not know of the overview";
  EXPECT_EQ(whole->values.size(), kCount * kCount);
  EXPECT_EQ(whole->values[kCount], 1000);
}

TEST_F(History, AMatrixWithoutAnOverviewHasNoBlocksAndADamagedOneIsNoticed) {
  plan_run(*store_, "r1", 1);
  PairMatrixRow given = matrix();
  ASSERT_TRUE(store_->put_pair_matrix(given));
  const PairMatrixKey key{.run_id = "r1"};
  const MatrixBlock block{0, 1, 0, 1};
  EXPECT_EQ(store_->read(read_matrix_overview, key).error().code, Code::kNotFound);
  EXPECT_EQ(store_->read(read_matrix_block, key, block).error().code, Code::kNotFound);
  EXPECT_EQ(store_->read(read_matrix_overview, PairMatrixKey{.run_id = "no"}).error().code,
            Code::kNotFound);
  given.overview = "coarse";
  ASSERT_TRUE(store_->put_pair_matrix(given));
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kCreate, 1);
  ASSERT_TRUE(connection);
  // The size in front, the numbers of frames, the head, the last frame.
  for (const char* damage : {"substr(body, 1, 4) || x'FFFFFFFF' || substr(body, 9)",
                             "substr(body, 1, 8) || x'FFFFFFFF' || substr(body, 13)",
                             "substr(body, 1, 16) || x'0000' || substr(body, 19)",
                             "substr(body, 1, length(body) - 1)"}) {
    ASSERT_TRUE(store_->put_pair_matrix(given));
    const std::string sql = fmt::format("UPDATE pair_matrix SET body=CAST({} AS BLOB)", damage);
    ASSERT_TRUE(connection->script(sql.c_str()));
    EXPECT_EQ(store_->read(read_matrix_block, key, block).error().code, Code::kDataLoss) << damage;
  }
}

TEST_F(History, AMatrixOfMoreEndpointsThanOneFrameHoldsComesBack) {
  plan_run(*store_, "r1", 1);
  constexpr std::size_t kCount = 4'200;  // 67 MiB
  PairMatrixRow given = matrix();
  given.endpoints.clear();
  for (std::size_t i = 0; i < kCount; ++i) given.endpoints.push_back(fmt::format("n{}/rxe0:1", i));
  given.values.assign(kCount * kCount, 1);
  for (std::size_t i = 0; i < kCount; ++i) given.values[i * kCount + i] = NAN;
  given.values[kCount * kCount - 2] = 7;
  ASSERT_TRUE(store_->put_pair_matrix(given));
  const auto back = store_->pair_matrix({.run_id = "r1"});
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->values.size(), kCount * kCount);
  EXPECT_EQ(back->values[kCount * kCount - 2], 7);
  EXPECT_TRUE(std::isnan(back->values.back()));
  EXPECT_EQ(back->endpoints.back(), "n4199/rxe0:1");
  std::size_t figures = 0;
  std::size_t sevens = 0;
  ASSERT_TRUE(store_->visit_pair_matrix(
      {.run_id = "r1"}, [&](const PairMatrixRow&, std::size_t from, std::size_t to, float value) {
        figures += value == 1 ? 1 : 0;
        sevens += value == 7 && from == kCount - 1 && to == kCount - 2 ? 1 : 0;
      }));
  EXPECT_EQ(figures, kCount * kCount - kCount - 1);
  EXPECT_EQ(sevens, 1u);
}

TEST_F(History, AComparisonOfMoreSeriesThanMayBeAnsweredSaysSo) {
  for (const char* run : {"r1", "r2"}) {
    plan_run(*store_, run, 1);
    append_passed(*store_, {.run_id = run});
  }
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(connection);
  EXPECT_EQ(compare_runs(*connection, "r1", "r2", 1)->rows.size(), 1u);
  const auto refused = compare_runs(*connection, "r1", "r2", 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
}

TEST_F(History, AMatrixThatDoesNotFitIsRefused) {
  plan_run(*store_, "r1", 1);
  PairMatrixRow given = matrix();
  given.values.pop_back();
  EXPECT_EQ(store_->put_pair_matrix(given).error().code, Code::kInvalidArgument);
  given = matrix();
  given.values[3] = 1;
  EXPECT_EQ(store_->put_pair_matrix(given).error().message,
            "pair matrix of r1: n2/rxe0:1 to itself is loopback and no pair");
  given = matrix();
  given.run_id = "nowhere";
  EXPECT_EQ(store_->put_pair_matrix(given).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace railgauge::store
