// A matrix that is too large to be read as a whole, on a whole controller over real HTTP: its
// overview, its tiles, and the bound of a request. Figures are made up.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "controller/console/reader.h"
#include "controller/console/service_stubs.h"
#include "controller/console/views/series_columns.h"
#include "controller/history/matrix_overview.h"
#include "controller/store/queries/data_kind.h"
#include "controller/store/testing/store_testing.h"
#include "controller/testing/console_bench.h"
#include "controller/testing/wide_matrix.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// Few more than are read as a whole.
constexpr int kWideNodes = 1'100;
static_assert(kWideNodes > static_cast<int>(kLeastWideRows));
// The pair with the one fault, and the pair that was not tested.
constexpr std::size_t kSlowRow = 700;
constexpr std::size_t kSlowColumn = 33;
constexpr std::size_t kUntestedRow = 40;
constexpr std::size_t kUntestedColumn = 900;
constexpr float kSlowFigure = 1e10F;

class ConsoleWide : public testing_agent::ConsoleServer {
 protected:
  void SetUp() override {
    ConsoleServer::SetUp();
    const auto store = store::open_store(bench_.config_.database);
    ASSERT_TRUE(store->write(store::mark_synthetic));
    std::vector<store::NodeRow> nodes;
    // The matrix names its nodes itself; a row of the store for each would be a commit for each.
    for (int node = 0; node < kWideNodes; ++node) nodes.push_back(store::wide_node(node));
    store::PairMatrixRow matrix = store::wide_matrix(kWideNodes);
    matrix.values[kSlowRow * kWideNodes + kSlowColumn] = kSlowFigure;
    matrix.values[kUntestedRow * kWideNodes + kUntestedColumn] =
        std::numeric_limits<float>::quiet_NaN();
    figures_ = matrix.values;
    store::add_wide_matrix(*store, std::move(matrix), PortMap(nodes));
  }
  std::string get(const std::string& path) {
    const auto answer = client_->Get("/api/v1/" + path, session_);
    EXPECT_TRUE(answer) << path;
    return answer ? fmt::format("{} {}", answer->status, answer->body) : "";
  }
  std::string tile(std::uint32_t step, const std::string& more = "") {
    return get(fmt::format("matrix/tile?run_id=matrix-{}&step={}{}", kWideNodes, step, more));
  }
  // The numbers of a list of the answer; NaN for null.
  static std::vector<double> numbers(const std::string& answer, const std::string& key) {
    const std::size_t at = answer.find("\"" + key + "\":[");
    EXPECT_NE(at, std::string::npos) << key << answer.substr(0, 200);
    if (at == std::string::npos) return {};
    const std::size_t begin = answer.find('[', at) + 1;
    std::vector<double> all;
    for (const std::string_view text :
         split(std::string_view(answer).substr(begin, answer.find(']', begin) - begin), ','))
      all.push_back(text == "null" ? std::numeric_limits<double>::quiet_NaN()
                                   : std::stod(std::string(text)));
    return all;
  }
  // The worst figure of the cell by the figures that were stored, and its pairs without one.
  [[nodiscard]] std::pair<double, int> cell_of(std::size_t step, std::size_t row,
                                               std::size_t column) const {
    double worst = std::numeric_limits<double>::infinity();
    int untested = 0;
    for (std::size_t from = row * step; from < std::min<std::size_t>((row + 1) * step, kWideNodes);
         ++from)
      for (std::size_t to = column * step;
           to < std::min<std::size_t>((column + 1) * step, kWideNodes); ++to) {
        const double figure = figures_[from * kWideNodes + to];
        if (std::isnan(figure) && from != to) ++untested;
        if (!std::isnan(figure)) worst = std::min(worst, figure);
      }
    return {worst, untested};
  }

  httplib::Headers session_{};
  std::vector<float> figures_{};
};

TEST_F(ConsoleWide, ZoomingOutHidesNoSlowPairAndNoPairThatWasNotTested) {
  start();
  session_ = sign_in();
  const std::string frame = get(fmt::format("matrix?run_id=matrix-{}", kWideNodes));
  EXPECT_THAT(frame, StartsWith("200 "));
  EXPECT_THAT(frame, HasSubstr(R"("untested_pairs":1,)"));
  EXPECT_THAT(frame,
              HasSubstr(fmt::format(R"("measured_pairs":{},)", kWideNodes * (kWideNodes - 1) - 1)));
  EXPECT_THAT(frame, HasSubstr(R"("data_kind":"synthetic")"));
  const std::vector<double> steps = numbers(frame, "steps");
  ASSERT_THAT(steps, testing::Contains(kOverviewStep));
  EXPECT_EQ(steps.front(), 1);
  for (const double each : steps) {
    const auto step = static_cast<std::uint32_t>(each);
    const std::size_t side = (kWideNodes + step - 1) / step;
    const std::size_t row = kSlowRow / step;
    const std::size_t column = kSlowColumn / step;
    // A row of cells through the fault, and the one cell that lacks a pair.
    const std::string found = tile(step, fmt::format("&row={}&rows=1", row));
    ASSERT_THAT(found, StartsWith("200 ")) << step;
    const std::vector<double> values = numbers(found, "values");
    ASSERT_EQ(values.size(), side) << step;
    EXPECT_EQ(values[column], kSlowFigure) << step;
    for (std::size_t i = 0; i < side; ++i)
      if (const double worst = cell_of(step, row, i).first; std::isfinite(worst)) {
        // The worst share: what is expected within a leaf differs a little from that across leaves.
        ASSERT_NEAR(values[i], worst, worst * 1e-3) << step << " " << i;
      }
    const std::string lacking =
        tile(step, fmt::format("&row={}&rows=1&column={}&columns=1", kUntestedRow / step,
                               kUntestedColumn / step));
    EXPECT_EQ(numbers(lacking, "untested").at(0),
              cell_of(step, kUntestedRow / step, kUntestedColumn / step).second)
        << step;
  }
}

TEST_F(ConsoleWide, TenMillionCellsAreRefusedWithTheLimit) {
  start();
  session_ = sign_in();
  for (const char* more : {"&rows=10000&columns=1000", "&rows=1000&columns=10000", ""}) {
    const std::string answer = tile(1, more);
    EXPECT_THAT(answer, StartsWith("400 ")) << more;
    EXPECT_THAT(answer, HasSubstr("a tile has 262144 at most")) << more;
    EXPECT_THAT(answer, Not(HasSubstr("\"values\""))) << more;
  }
  EXPECT_THAT(tile(1, "&rows=512&columns=512"), StartsWith("200 "));
  EXPECT_THAT(tile(3), HasSubstr("a power of two"));
}

// An archive whose blocks take until they are released, and whose series grows.
class SlowBlocks final : public api::Archive::Service {
 public:
  grpc::Status GetMatrixBlock(grpc::ServerContext*, const api::MatrixBlockRequest*,
                              api::MatrixBlock*) override {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
    return grpc::Status::OK;
  }
  grpc::Status ListEvents(grpc::ServerContext*, const api::EventsRequest*,
                          api::EventList*) override {
    return grpc::Status::OK;
  }
  grpc::Status GetHistory(grpc::ServerContext*, const api::HistoryRequest* request,
                          api::History* history) override {
    const std::lock_guard lock(mutex_);
    histories_.push_back(request->limit());
    for (int i = std::max(0, points_ - static_cast<int>(request->limit())); i < points_; ++i) {
      api::HistoryPoint& point = *history->add_points();
      point.set_measured_at(rfc3339(i));
      point.set_run_id(fmt::format("r{}", i / 2));
      point.set_headline(i);
    }
    return grpc::Status::OK;
  }
  grpc::Status GetSuspects(grpc::ServerContext*, const api::PairsRequest* request,
                           api::SuspectList* list) override {
    const std::lock_guard lock(mutex_);
    ++suspect_calls_;
    list->set_run_id(request->run_id());
    return request->run_id() == "none" ? grpc::Status(grpc::NOT_FOUND, "no run") : grpc::Status::OK;
  }
  void set_points(int count) {
    const std::lock_guard lock(mutex_);
    points_ = count;
  }
  // The limits of the histories that were asked for since the last call.
  std::vector<std::uint32_t> take_histories() {
    const std::lock_guard lock(mutex_);
    return std::exchange(histories_, {});
  }
  int suspect_calls() {
    const std::lock_guard lock(mutex_);
    return suspect_calls_;
  }
  void wait_for_block() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return begun_ > 0; });
  }
  void release_all() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  int begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int begun_ = 0;
  bool is_open_ = false;
  int points_ = 0;
  std::vector<std::uint32_t> histories_;
  int suspect_calls_ = 0;
};

// A reader of that archive.
class ConsoleReader : public testing::Test {
 protected:
  ~ConsoleReader() override { server_->Shutdown(); }

  static std::unique_ptr<grpc::Server> serve(SlowBlocks& archive) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&archive);
    return builder.BuildAndStart();
  }
  SlowBlocks archive_{};
  const std::unique_ptr<grpc::Server> server_ = serve(archive_);
  const std::shared_ptr<grpc::Channel> channel_ = server_->InProcessChannel({});
  std::atomic<std::uint64_t> writes_ = 0;  // of a store
  console::Reader reader_{[this] { return channel_; }, [this] { return writes_.load(); }};
};

// The answer of a route to a request.
template <class Answer>
Result<Answer> read_route(console::Reader& reader, std::string_view path,
                          const google::protobuf::Message& request) {
  std::string field;
  std::string value;
  const console::Route* route = console::find_route(path, field, value);
  if (route == nullptr) return fail(Code::kNotFound, "no such route");
  Answer answer;
  RG_TRY_OK(route->read(reader, {}, request, answer));
  return answer;
}

TEST_F(ConsoleReader, ColumnsAreReadOnceUntilTheStoreWrites) {
  archive_.set_points(5);
  api::SeriesColumnsRequest request;
  request.set_series_id(7);
  const auto headlines = [&]() -> std::vector<float> {
    const auto columns = read_route<api::SeriesColumns>(reader_, "/api/v1/series/columns", request);
    if (!columns) return {-1};
    return {columns->headlines().begin(), columns->headlines().end()};
  };
  EXPECT_THAT(headlines(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(archive_.take_histories(), ElementsAre(console::kMostColumnPoints));
  EXPECT_THAT(headlines(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(archive_.take_histories(), IsEmpty());
  archive_.set_points(6);
  ++writes_;
  EXPECT_THAT(headlines(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(archive_.take_histories(), ElementsAre(console::kMostColumnPoints));
  request.set_points(2);
  EXPECT_THAT(headlines(), ElementsAre(4, 5)) << "another request has an answer of its own";
  EXPECT_THAT(archive_.take_histories(), ElementsAre(2));
}

TEST_F(ConsoleReader, SuspectsOfOneRunAreFoundOnceForSeveralPages) {
  for (const char* run : {"r1", "r1", "r2", "none", "none"}) {
    api::PairsRequest request;
    request.set_run_id(run);
    const auto list = read_route<api::SuspectList>(reader_, "/api/v1/suspects", request);
    EXPECT_EQ(list.has_value(), std::string_view(run) != "none");
    if (list) EXPECT_EQ(list->run_id(), run);
  }
  EXPECT_EQ(archive_.suspect_calls(), 4) << "an error is not kept";
}

TEST_F(ConsoleReader, ATileThatNobodyWaitsForTakesNoTurnAndDelaysNoOtherCall) {
  Status first;
  std::thread reading([&] {
    api::MatrixBlock block;
    first = reader_.block({}, {}, block);
  });
  archive_.wait_for_block();
  api::MatrixBlock block;
  EXPECT_EQ(reader_
                .block(
                    {}, [] { return true; }, block)
                .error()
                .code,
            Code::kCancelled);
  EXPECT_EQ(archive_.begun(), 1) << "nobody waited for the second one";
  EXPECT_TRUE(reader_.call([](const console::Stubs& stubs, grpc::ClientContext& context) {
    api::EventList events;
    return stubs.archive->ListEvents(&context, {}, &events);
  }));
  archive_.release_all();
  reading.join();
  EXPECT_TRUE(first);
  EXPECT_TRUE(reader_.block(
      {}, [] { return false; }, block))
      << "the turn is free again";
  EXPECT_EQ(archive_.begun(), 2);
}

// Each caller that waits holds a place of the HTTP server, of which a source has few.
TEST_F(ConsoleReader, ATileIsRefusedAtOnceWhereTwoWaitForTheirTurn) {
  std::vector<Status> ends(1 + console::Reader::kMostBlockWaits);
  std::atomic<std::size_t> waits = 0;
  std::vector<std::thread> readers;
  const auto begin = [&](std::size_t i) {
    readers.emplace_back([&, i] {
      bool has_waited = false;
      api::MatrixBlock block;
      ends[i] = reader_.block(
          {},
          [&] {
            if (!std::exchange(has_waited, true)) ++waits;
            return false;
          },
          block);
    });
  };
  begin(0);
  archive_.wait_for_block();
  waits = 0;  // the first one was asked once, before its call
  for (std::size_t i = 1; i < ends.size(); ++i) begin(i);
  while (waits < console::Reader::kMostBlockWaits)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  api::MatrixBlock block;
  bool was_asked = false;
  const Status refused = reader_.block(
      {},
      [&] {
        was_asked = true;
        return false;
      },
      block);
  EXPECT_TRUE(!refused && refused.error().code == Code::kResourceExhausted);
  EXPECT_FALSE(was_asked) << "it waited";
  archive_.release_all();
  for (std::thread& one : readers) one.join();
  for (const Status& one : ends) EXPECT_TRUE(one);
  EXPECT_EQ(archive_.begun(), static_cast<int>(ends.size()));
  EXPECT_TRUE(reader_.block({}, {}, block)) << "the turn is free again";
}

}  // namespace
}  // namespace railgauge
