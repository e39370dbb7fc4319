#include "kernels/runner/task/run.h"

#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/runner/task/slices.h"

namespace railgauge {
namespace {

// Keeps what is written; fails from record `fail_at` on.
class KeptRecords final : public RecordSink {
 public:
  Status write(const Record& record) override {
    if (records.size() >= fail_at) return fail(Code::kUnavailable, "the reader is gone");
    records.push_back(record);
    return {};
  }
  std::vector<Record> records;
  std::size_t fail_at = 1000;
};

constexpr const char* kMetric = "latency_ns";

Point declared_point() {
  Point point;
  point.set_metric(kMetric);
  return point;
}

// The steps of a scripted kernel; alive_count shows the kernel's destruction.
struct Steps {
  std::function<Status(Context&)> prepare = [](Context&) -> Status { return {}; };
  std::function<Status(Context&, Group&)> connect = [](Context&, Group&) -> Status { return {}; };
  std::function<Status(Context&, Group&)> measure = [](Context& context, Group&) -> Status {
    context.reporter.point(declared_point());
    return {};
  };
};
Steps steps;
std::string endpoint_kind;  // that the row declares
bool takes_slices = false;  // whether it declares the parameters of slices
int alive_count = 0;

class SteppedKernel final : public Kernel {
 public:
  SteppedKernel() { ++alive_count; }
  ~SteppedKernel() override { --alive_count; }
  Status prepare(Context& context) override { return steps.prepare(context); }
  Status connect(Context& context, Group& group) override { return steps.connect(context, group); }
  Status measure(Context& context, Group& group) override { return steps.measure(context, group); }
};

const KernelRow kRow{[] {
                       KernelInfo info;
                       info.set_name("test.steps");
                       info.set_revision(7);
                       info.set_min_ranks(1);
                       info.set_max_ranks(1);
                       info.set_endpoint_kind(endpoint_kind);
                       info.add_metrics(kMetric);
                       for (const char* name : {"slices", "slice_uuid"}) {
                         if (!takes_slices) break;
                         ParameterInfo& made = *info.add_parameters();
                         made.set_name(name);
                         made.set_type("text");
                       }
                       return info;
                     },
                     []() -> std::unique_ptr<Kernel> { return std::make_unique<SteppedKernel>(); }};

class RunKernel : public testing::Test {
 protected:
  void SetUp() override {
    steps = Steps{};
    endpoint_kind = "none";
    takes_slices = false;
  }
  // The value of `slice_uuid` in the record, of a rank that has the slices `own`.
  std::string recorded_slices(const std::string& own, std::map<std::string, std::string> given) {
    takes_slices = true;
    given_ = std::move(given);
    sink_.records.clear();
    steps.prepare = [own](Context& context) -> Status {
      if (!own.empty()) context.reporter.fact("gpu_slice_uuid", own);
      return {};
    };
    run();
    return sink_.records.at(0).started().parameters().at("slice_uuid");
  }
  Final run(const Ready& ready = [](const Status&) -> Status { return {}; }) {
    const Task task{.row = kRow,
                    .params = Params::parse(kRow.info(), given_).value(),
                    .endpoint = endpoint_,
                    .deadline_monotonic_ns = monotonic_now_ns() + 60e9,
                    .raw_samples = raw_samples_,
                    .spawned_monotonic_ns = monotonic_now_ns() - 5e6,
                    .entered_monotonic_ns = monotonic_now_ns()};
    RecordWriter writer(sink_, RecordKey{});
    SoloGroup group;
    exit_code_ = finish_task(run_kernel(task, group, writer, ready), writer);
    return sink_.records.empty() ? Final{} : sink_.records.back().final();
  }
  KeptRecords sink_;
  std::string endpoint_;
  std::map<std::string, std::string> given_;
  bool raw_samples_ = false;
  int exit_code_ = -1;
};

TEST_F(RunKernel, TheGpuThatTheKernelOpenedIsTheEndpoint) {
  steps.prepare = [&](Context& context) -> Status {
    return context.reporter.fact("device", "gpu0"), Status{};
  };
  endpoint_kind = "gpu";
  run();
  EXPECT_EQ(sink_.records.at(0).started().endpoint(), "gpu0");
}

// Two slices of one GPU differ in nothing else of the record.
TEST_F(RunKernel, TheSliceThatWasMeasuredIsAParameterOfTheRecord) {
  const std::map<std::string, std::string> measured{{"slices", "measure"}};
  EXPECT_EQ(recorded_slices("MIG-1", measured), "MIG-1");
  EXPECT_EQ(recorded_slices("MIG-2", measured), "MIG-2");
  EXPECT_EQ(recorded_slices("", measured), "") << "a whole GPU";
  EXPECT_EQ(recorded_slices("MIG-1", {{"slices", "measure"}, {"slice_uuid", "MIG-"}}), "MIG-1");
  EXPECT_EQ(recorded_slices("", {{"slices", "waive"}}), "");
}

TEST_F(RunKernel, AnotherSliceThanTheDemandedOneWaives) {
  recorded_slices("MIG-1", {{"slices", "measure"}, {"slice_uuid", "MIG-2"}});
  const Final other = sink_.records.back().final();
  EXPECT_EQ(other.outcome(), kWaived);
  EXPECT_EQ(other.reason(),
            "rank 0: parameter slice_uuid: \"MIG-2\" was asked for, and CUDA shows MIG-1; a whole "
            "UUID (nvidia-smi -L) makes CUDA show that slice");
  recorded_slices("", {{"slices", "measure"}, {"slice_uuid", "MIG-2"}});
  EXPECT_NE(sink_.records.back().final().reason().find("shows a whole GPU"), std::string::npos);
  recorded_slices("MIG-1", {{"slices", "waive"}, {"slice_uuid", "MIG-1"}});
  EXPECT_EQ(sink_.records.back().final().reason(),
            "parameter slice_uuid: \"MIG-1\" is measured with slices=measure alone");
}

TEST_F(RunKernel, AWholeUuidMakesCudaShowThatSlice) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  const std::string uuid = "MIG-66616b65-0001-4000-8000-726700000000";
  EXPECT_EQ(recorded_slices(uuid, {{"slices", "measure"}, {"slice_uuid", uuid.substr(0, 9)}}),
            uuid);
  EXPECT_EQ(std::getenv("CUDA_VISIBLE_DEVICES"), nullptr) << "a beginning may be of several";
  recorded_slices(uuid, {{"slices", "waive"}, {"slice_uuid", uuid}});
  EXPECT_EQ(std::getenv("CUDA_VISIBLE_DEVICES"), nullptr);
  recorded_slices(uuid, {{"slices", "measure"}, {"slice_uuid", uuid}});
  ASSERT_NE(std::getenv("CUDA_VISIBLE_DEVICES"), nullptr);
  EXPECT_EQ(std::getenv("CUDA_VISIBLE_DEVICES"), uuid);
  unsetenv("CUDA_VISIBLE_DEVICES");
}

// Each rank knows the slices of all, so that any rank's record has them.
TEST_F(RunKernel, TheSlicesOfSeveralRanksAreNamedInTheirOrder) {
  takes_slices = true;
  const auto of = [](const std::vector<std::string>& slices) {
    struct Ranks final : Group {
      explicit Ranks(std::vector<std::string> all) : all_(std::move(all)) {}
      [[nodiscard]] std::uint32_t rank() const override { return 0; }
      [[nodiscard]] std::uint32_t size() const override {
        return static_cast<std::uint32_t>(all_.size());
      }
      Result<std::vector<std::string>> exchange(std::string, double) override { return all_; }
      std::vector<std::string> all_;
    } group(slices);
    const Params params = Params::parse(kRow.info(), {{"slices", "measure"}}).value();
    TickClock clock;
    struct Silent final : Reporter {
      void point(Point) override {}
      void note(std::string_view, std::string) override {}
      void fact(std::string_view, std::string) override {}
    } reporter;
    const Context context{params, reporter, clock, "", monotonic_now_ns() + 1e9, false, 0};
    return slices_of_task(context, group, kRow.info(), slices.front()).value();
  };
  EXPECT_EQ(of({"MIG-1", "MIG-2"}), "MIG-1,MIG-2");
  EXPECT_EQ(of({"MIG-2", "MIG-1"}), "MIG-2,MIG-1");
  EXPECT_EQ(of({"MIG-1", "MIG-1"}), "MIG-1") << "one slice that both share";
  EXPECT_EQ(of({"", "MIG-1"}), "-,MIG-1");
  EXPECT_EQ(of({"", ""}), "");
  std::vector<std::string> many;
  for (int i = 0; i < 64; ++i) many.push_back(fmt::format("MIG-{:032}", i));
  const std::string all = of(many);
  EXPECT_TRUE(all.starts_with("64-ranks-")) << all;
  std::swap(many[3], many[4]);
  EXPECT_NE(of(many), all);
}

TEST_F(RunKernel, AKernelOverSeveralGpusHasNoEndpoint) {
  steps.prepare = [&](Context& context) -> Status {
    return context.reporter.fact("device", "gpu0,gpu1"), Status{};
  };
  run();
  EXPECT_EQ(sink_.records.at(0).started().endpoint(), "");
}

TEST_F(RunKernel, GoesThroughItsStepsAndTearsDownBeforeTheFinalRecord) {
  std::string order;
  steps.prepare = [&](Context&) -> Status { return order += "prepare ", Status{}; };
  steps.connect = [&](Context&, Group&) -> Status { return order += "connect ", Status{}; };
  const Final final = run([&](const Status&) { return order += "ready ", Status{}; });
  EXPECT_EQ(order, "prepare ready connect ");
  EXPECT_EQ(final.outcome(), kPassed);
  EXPECT_EQ(exit_code_, kExitPassed);
  EXPECT_EQ(alive_count, 0);
  ASSERT_EQ(sink_.records.size(), 3u);
  EXPECT_EQ(sink_.records[0].started().revision(), 7u);
  EXPECT_GE(final.phases().start_ns(), 5e6);
  EXPECT_TRUE(final.phases().has_stop_ns());
}

TEST_F(RunKernel, HasACalibratedClockFromConnectOnAndSaysWhich) {
  std::string source;
  steps.connect = [&](Context& context, Group&) -> Status {
    source = dynamic_cast<TickClock&>(context.clock).source();
    EXPECT_GT(dynamic_cast<TickClock&>(context.clock).overhead_ns(), 0);
    return {};
  };
  run();
  EXPECT_EQ(sink_.records[0].started().facts().at("clock_source"), source);
}

TEST_F(RunKernel, FactsOfPrepareAndConnectStandInStartedAndNameTheEndpoint) {
  endpoint_ = "rxe0";  // without a port: the kernel took the first
  steps.prepare = [](Context& context) -> Status {
    return context.reporter.fact("device", "rxe0"), Status{};
  };
  steps.connect = [](Context& context, Group&) -> Status {
    return context.reporter.fact("port", "1"), Status{};
  };
  run();
  EXPECT_EQ(sink_.records[0].started().facts().at("device"), "rxe0");
  EXPECT_EQ(sink_.records[0].started().endpoint(), "rxe0:1");
}

TEST_F(RunKernel, AFactThatComesTooLateIsANoteAndNotLost) {
  steps.measure = [](Context& context, Group&) -> Status {
    context.reporter.fact("late", "value");
    context.reporter.point(declared_point());
    return {};
  };
  run();
  EXPECT_EQ(sink_.records[1].note().text(), "late: value");
}

TEST_F(RunKernel, AFailedPrepareIsToldToTheOthersAndStillSaysWhatWasTried) {
  steps.prepare = [](Context&) -> Status { return fail(Code::kNotFound, "no device"); };
  Status heard;
  const Final final = run([&](const Status& prepared) { return heard = prepared, Status{}; });
  EXPECT_EQ(heard.error().message, "no device");
  EXPECT_EQ(final.outcome(), kWaived);
  EXPECT_EQ(final.reason(), "no device");
  EXPECT_EQ(exit_code_, kExitWaived);
  EXPECT_EQ(sink_.records[0].started().kernel(), "test.steps");
  EXPECT_FALSE(final.phases().has_exchange_ns());
}

TEST_F(RunKernel, AnotherRanksRefusalEndsItBeforeConnect) {
  steps.connect = [](Context&, Group&) -> Status {
    ADD_FAILURE() << "connect was called";
    return {};
  };
  const Final final = run([](const Status&) -> Status { return fail(Code::kCancelled, "no go"); });
  EXPECT_EQ(final.outcome(), kCancelledOutcome);
  EXPECT_EQ(exit_code_, kExitInterrupted);
}

TEST_F(RunKernel, WhatAKernelThrowsIsACrashAndItsPointsStay) {
  steps.measure = [](Context& context, Group&) -> Status {
    context.reporter.point(declared_point());
    throw std::runtime_error("library says no");
  };
  const Final final = run();
  EXPECT_EQ(final.outcome(), kCrashed);
  EXPECT_EQ(final.reason(), "measure: threw library says no");
  EXPECT_TRUE(sink_.records[1].has_point());
  EXPECT_EQ(exit_code_, kExitInvalid);
  EXPECT_EQ(alive_count, 0);
}

TEST_F(RunKernel, EvenAThrownIntegerIsACrash) {
  steps.connect = [](Context&, Group&) -> Status { throw 7; };
  EXPECT_EQ(run().reason(), "connect: threw no exception of std");
}

TEST_F(RunKernel, MeasuringNothingIsNeverAPass) {
  steps.measure = [](Context&, Group&) -> Status { return {}; };
  const Final final = run();
  EXPECT_EQ(final.outcome(), kCrashed);
  EXPECT_EQ(final.reason(), "measured nothing: the kernel reported no point");
}

TEST_F(RunKernel, WrongBytesFailAndExitWithOne) {
  steps.measure = [](Context&, Group&) -> Status { return fail(Code::kDataLoss, "byte 3"); };
  EXPECT_EQ(run().outcome(), kFailed);
  EXPECT_EQ(exit_code_, kExitFailed);
}

TEST_F(RunKernel, ADriftedClockSaysNothingAboutTheFabric) {
  EXPECT_TRUE(drift_status("tsc", -TickClock::kMaxDriftPpm));
  steps.measure = [](Context&, Group&) { return drift_status("tsc", 812); };
  const Final final = run();
  EXPECT_EQ(final.outcome(), kCrashed);
  EXPECT_TRUE(final.reason().starts_with("clock tsc: drifted 812 ppm")) << final.reason();
  EXPECT_EQ(exit_code_, kExitInvalid);
}

TEST_F(RunKernel, RawSamplesLeaveOnlyWhereAskedFor) {
  steps.measure = [](Context& context, Group&) -> Status {
    Point point = declared_point();
    point.add_samples(1);
    context.reporter.point(point);
    return {};
  };
  run();
  EXPECT_EQ(sink_.records[1].point().samples_size(), 0);
  sink_.records.clear();
  raw_samples_ = true;
  run();
  EXPECT_EQ(sink_.records[1].point().samples_size(), 1);
}

TEST(RecordWriting, NumbersWithoutGapsAndEndsWithTheFinalRecord) {
  KeptRecords sink;
  RecordKey key;
  key.set_task_id("t");
  key.set_sequence(99);
  RecordWriter writer(sink, key);
  writer.note("info", "a");
  writer.note("info", "b");
  EXPECT_TRUE(writer.finish(kPassed, ""));
  writer.note("info", "too late");
  EXPECT_FALSE(writer.finish(kCrashed, "too late"));
  ASSERT_EQ(sink.records.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(sink.records[i].key().sequence(), i);
  EXPECT_EQ(sink.records[2].key().task_id(), "t");
}

TEST(RecordWriting, KeepsTheSinksFirstErrorAndWritesNoMore) {
  KeptRecords sink;
  sink.fail_at = 1;
  RecordWriter writer(sink, RecordKey{});
  writer.note("info", "a");
  EXPECT_TRUE(writer.sink_status());
  writer.note("info", "b");
  sink.fail_at = 1000;
  writer.note("info", "c");
  EXPECT_EQ(sink.records.size(), 1u);
  EXPECT_EQ(writer.sink_status().error().message, "the reader is gone");
}

}  // namespace
}  // namespace railgauge
