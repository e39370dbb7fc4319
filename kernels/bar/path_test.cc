// The choice among backends, with backends of scripted results.
#include "kernels/bar/path.h"

#include <gmock/gmock.h>

namespace railgauge::bar {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The calls of each backend, in order.
using Log = std::vector<std::string>;

class FakeWindow final : public Window {
 public:
  FakeWindow(std::string name, Status pinned, Log& log)
      : name_(std::move(name)), pinned_(std::move(pinned)), log_(log) {}
  ~FakeWindow() override { log_.push_back(name_ + " released"); }
  Status pin() override { return pinned_; }
  Status map() override { return {}; }
  Status unmap() override { return {}; }
  Status unpin() override { return {}; }
  [[nodiscard]] View view() const override { return {.bytes = name_.size()}; }

 private:
  std::string name_;
  Status pinned_;
  Log& log_;
};

class FakeBackend final : public Backend {
 public:
  FakeBackend(std::string name, Status made, Status pinned, Log& log)
      : name_(std::move(name)), made_(std::move(made)), pinned_(std::move(pinned)), log_(log) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  Result<std::unique_ptr<Window>> make(const gpu::Gpu& /*gpu*/, std::size_t /*bytes*/) override {
    log_.push_back(name_ + " made");
    RG_TRY_OK(made_);
    return std::make_unique<FakeWindow>(name_, pinned_, log_);
  }
  Result<std::unique_ptr<Window>> adopt(const gpu::Gpu& /*gpu*/, cu::DevicePtr /*memory*/,
                                        std::size_t /*bytes*/) override {
    return fail(Code::kUnimplemented, "never asked");
  }

 private:
  std::string name_;
  Status made_;
  Status pinned_;
  Log& log_;
};

class ChoosePath : public ::testing::Test {
 protected:
  void add(std::string name, Status made = {}, Status pinned = {}) {
    backends_.push_back(
        std::make_unique<FakeBackend>(std::move(name), std::move(made), std::move(pinned), log_));
  }
  Result<Path> choose(std::string_view wanted) {
    return choose_path(
        backends_, wanted, [](Backend& backend) { return backend.make(gpu::Gpu(), 1); },
        [this](const View& view) -> Status {
          for (const std::size_t wrong : wrong_lengths_)
            if (view.bytes == wrong) return fail(Code::kDataLoss, "byte 7 differs");
          return {};
        });
  }
  static Status refused(std::string message) {
    return fail(Code::kFailedPrecondition, std::move(message));
  }

  Log log_;
  std::vector<std::unique_ptr<Backend>> backends_;
  std::vector<std::size_t> wrong_lengths_;  // of the names whose windows prove wrong
};

TEST_F(ChoosePath, TakesTheFirstThatWorksAndTriesNoOther) {
  add("one");
  add("second");
  const auto path = choose("auto");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->backend->name(), "one");
  EXPECT_EQ(path->refused, "");
  EXPECT_THAT(log_, ElementsAre("one made"));
}

TEST_F(ChoosePath, SaysInOneLineWhyEachEarlierOneWasRefused) {
  add("one", refused("one: its library is absent"));
  add("second", {}, refused("mmap of 65536: errno 524"));
  add("other");
  const auto path = choose("auto");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->backend->name(), "other");
  EXPECT_EQ(path->refused, "one: its library is absent | second: mmap of 65536: errno 524");
  EXPECT_FALSE(path->alarming);
}

TEST_F(ChoosePath, ReleasesAWindowThatItDoesNotTake) {
  add("one", {}, refused("no"));
  add("second");
  const auto path = choose("auto");
  ASSERT_TRUE(path);
  EXPECT_THAT(log_, ElementsAre("one made", "one released", "second made"));
}

TEST_F(ChoosePath, RefusesOneWhoseBytesAreWrongAndRemembersIt) {
  add("one");
  add("second");
  wrong_lengths_ = {3};
  const auto path = choose("auto");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->backend->name(), "second");
  EXPECT_TRUE(path->alarming);
  EXPECT_EQ(path->refused, "one: byte 7 differs");
  ASSERT_FALSE(path->corrupt);
  EXPECT_EQ(path->corrupt.error().code, Code::kDataLoss);
  EXPECT_EQ(path->corrupt.error().message, "one: byte 7 differs");
}

TEST_F(ChoosePath, RemembersThatAnErrorRatherThanAnAbsenceMadeItGoOn) {
  add("one", fail(Code::kInternal, "one: CUDA_ERROR_UNKNOWN (999)"));
  add("second");
  const auto path = choose("auto");
  ASSERT_TRUE(path);
  EXPECT_TRUE(path->alarming);
  EXPECT_TRUE(path->corrupt) << "no byte was wrong";
}

TEST_F(ChoosePath, TriesNoOtherThanTheForcedOne) {
  add("one");
  add("second", refused("second: absent"));
  add("other");
  const auto path = choose("second");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(path.error().message, "second: absent");
  EXPECT_THAT(log_, ElementsAre("second made"));
}

TEST_F(ChoosePath, WaivesWithEveryReasonWhenNoneWorks) {
  add("one", fail(Code::kNotFound, "one: absent"));
  add("second", fail(Code::kUnimplemented, "second: too old"));
  const auto path = choose("auto");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().message, "one: absent | second: too old");
  EXPECT_EQ(path.error().code, Code::kUnimplemented);  // a waiver as the other
}

TEST_F(ChoosePath, FailsWhenNoneWorksAndOneGaveWrongBytes) {
  add("one");
  add("second", fail(Code::kInternal, "second: the GPU is gone"));
  wrong_lengths_ = {3};
  const auto path = choose("auto");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, Code::kDataLoss);
  EXPECT_THAT(path.error().message, HasSubstr("second: the GPU is gone"));
}

TEST_F(ChoosePath, DoesNotHideAnErrorBehindAWaiver) {
  add("one", fail(Code::kInternal, "one: CUDA_ERROR_UNKNOWN (999)"));
  add("second", refused("second: absent"));
  const auto path = choose("auto");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, Code::kInternal);
}

TEST(Backends, AreTriedInTheirOrder) {
  std::vector<std::string> names;
  for (const auto& backend : make_backends()) names.emplace_back(backend->name());
  EXPECT_THAT(names, ElementsAre("gdrdrv", "dmabuf", "coherent", "vulkan"));
}

}  // namespace
}  // namespace railgauge::bar
