// Shared by the tests of the verbs. No gRPC header: a test costs what its own includes cost.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "controller/cli/input/session.h"
#include "controller/cli/testing/fake_archive.h"
#include "controller/cli/testing/fake_control.h"
#include "controller/cli/testing/fake_judge.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/testing/rendered_file.h"

namespace railgauge::cli {

// Compares `text` with controller/cli/testdata/NAME. RAILGAUGE_UPDATE_GOLDEN=1 writes the file
// instead.
void expect_golden(const std::string& name, const std::string& text);

// Runs command lines against the fake controller inside this process.
class Commands : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The exit code; what was printed is in out_ and err_. Words that are no command end as in the
  // program itself.
  int run(const std::vector<std::string>& words, Format format = Format::kTable,
          bool colour = false);
  // The connection to the fakes, for tests that make a session of their own.
  [[nodiscard]] const Stubs& stubs() const;

 private:
  // The server inside the process, and the stubs that reach it.
  struct Server;
  const std::unique_ptr<FakeControl> fake_control_ = FakeControl::create();
  const std::unique_ptr<FakeArchive> fake_archive_ = FakeArchive::create();
  const std::unique_ptr<FakeJudge> fake_judge_ = FakeJudge::create();
  std::shared_ptr<Server> server_;

 protected:
  FakeControl& control_ = *fake_control_;
  FakeArchive& archive_ = *fake_archive_;
  FakeJudge& judge_ = *fake_judge_;
  Interrupts interrupts_;
  std::atomic<bool> is_synthetic_ = false;       // whether the controller's answers have the mark
  std::atomic<bool> is_archive_behind_ = false;  // whether they say that the archive is late
  Units units_ = Units::kBoth;
  bool connected_ = false;
  double linger_seconds_ = 0.05;
  double cancel_seconds_ = 10;
  double reconnect_seconds_ = 10;
  std::string out_;
  std::string err_;
};

}  // namespace railgauge::cli
