#include "controller/cli/demo/demo_programs.h"

#include <signal.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::cli {
namespace {

using testing::HasSubstr;

// TMPDIR of this process, as it was at the end.
class DemoFolders : public testing::Test {
 protected:
  void TearDown() override {
    if (before_ != nullptr)
      ::setenv("TMPDIR", kept_.c_str(), 1);
    else
      ::unsetenv("TMPDIR");
    std::filesystem::remove_all(base_);
  }
  // Makes the folder NAME below the test's own, which is TMPDIR then.
  Result<std::unique_ptr<DemoFolder>> made_below(const std::string& name) {
    const std::string path = base_ + "/" + name;
    std::filesystem::create_directories(path);
    ::setenv("TMPDIR", path.c_str(), 1);
    return DemoFolder::make(remains_);
  }

  const char* const before_ = ::getenv("TMPDIR");
  const std::string kept_ = before_ == nullptr ? "" : before_;
  const std::string base_ = "/tmp/railgauge-demo-test-" + std::to_string(::getpid());
  DemoRemains remains_;
};

TEST_F(DemoFolders, APathThatNoSocketCanHaveIsRefusedInOneLine) {
  for (const std::string& odd :
       {std::string("a b"), std::string("a\"b"), std::string("a%41b"), std::string("a\nb")}) {
    const auto made = made_below(odd);
    ASSERT_FALSE(made) << odd;
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    EXPECT_THAT(made.error().message, HasSubstr("TMPDIR=/tmp would do"));
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
  }
  const auto made = made_below(std::string(80, 'x'));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("a socket's path has at most 107 bytes"));
}

TEST_F(DemoFolders, TheLongestPathThatIsAllowedIsMade) {
  const std::string name(78 - base_.size() - 1, 'x');
  const auto made = made_below(name);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->path(std::string(kDemoSocket)).size(), 107U);
  EXPECT_FALSE(made_below(name + "x"));
}

TEST_F(DemoFolders, ARelativePathIsMadeAbsolute) {
  std::filesystem::create_directories(base_);
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(base_);
  std::filesystem::create_directory("rel");
  ::setenv("TMPDIR", "rel", 1);
  const auto made = DemoFolder::make(remains_);
  std::filesystem::current_path(here);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->path().rfind(base_ + "/rel/", 0), 0U);
}

// SIGKILL of a demo leaves its folder; its lock ends with it.
TEST_F(DemoFolders, AFolderThatAKilledDemoLeftGoesWithTheNextDemo) {
  const auto living = made_below("t");
  ASSERT_TRUE(living);
  const std::string below = base_ + "/t/";
  std::filesystem::create_directories(below + "railgauge-demo-killed/disk");
  { const std::ofstream lock(below + "railgauge-demo-killed/demo.lock"); }
  std::filesystem::create_directories(below + "railgauge-demo-begins");
  std::filesystem::create_directories(below + "other");
  { const std::ofstream lock(below + "other/demo.lock"); }
  std::filesystem::create_directory_symlink(below + "other", below + "railgauge-demo-linked");
  const auto next = made_below("t");
  ASSERT_TRUE(next);
  EXPECT_FALSE(std::filesystem::exists(below + "railgauge-demo-killed"));
  EXPECT_TRUE(std::filesystem::exists((*living)->path()));
  EXPECT_TRUE(std::filesystem::exists((*next)->path()));
  EXPECT_TRUE(std::filesystem::exists(below + "railgauge-demo-begins"));
  EXPECT_TRUE(std::filesystem::exists(below + "other/demo.lock"));
}

TEST_F(DemoFolders, WhatIsLeftIsTakenAwayAtOnce) {
  auto made = made_below("t");
  ASSERT_TRUE(made);
  const std::string path = (*made)->path();
  auto program = DemoProgram::start({"/bin/sleep", "600"}, (*made)->path("sleep.log"), remains_);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE((*program)->check());
  remains_.take_away();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE((*program)->check()) << "it was killed";
}

// As by SIGKILL of the demo.
TEST_F(DemoFolders, AProgramEndsWithTheThreadThatStartedIt) {
  auto made = made_below("t");
  ASSERT_TRUE(made);
  std::unique_ptr<DemoProgram> program;
  const auto happens = [](const auto& condition) {
    constexpr int kMostLooks = 2'000;
    int looks = 0;
    while (looks < kMostLooks && !condition()) {
      ++looks;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return looks < kMostLooks;
  };
  // The thread stays until the program runs: one that ends sooner is none that the program knows.
  std::thread([&] {
    auto started = DemoProgram::start({"/bin/sh", "-c", "echo runs; exec sleep 600"},
                                      (*made)->path("log"), remains_);
    if (!started) return;
    program = *std::move(started);
    EXPECT_TRUE(happens([&] { return program->log_text() == "runs\n"; }));
  }).join();
  ASSERT_TRUE(program);
  EXPECT_TRUE(happens([&] { return !program->check(); }));
}

TEST_F(DemoFolders, AProgramThatIsNotThereIsNamed) {
  auto made = made_below("t");
  ASSERT_TRUE(made);
  const auto program = DemoProgram::start({"/nowhere/a"}, (*made)->path("log"), remains_);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::kNotFound);
  EXPECT_THAT(program.error().message, HasSubstr("/nowhere/a"));
}

}  // namespace
}  // namespace railgauge::cli
