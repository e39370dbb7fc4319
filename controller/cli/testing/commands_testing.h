// Shared by the tests of the verbs.
#pragma once

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "controller/cli/input/session.h"
#include "controller/cli/testing/fake_archive.h"
#include "controller/cli/testing/fake_control.h"
#include "controller/cli/testing/fake_judge.h"
#include "controller/cli/verbs/commands.h"

namespace railgauge::cli {

// RAILGAUGE_UPDATE_GOLDEN=1 writes the file instead.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = "controller/cli/testdata/" + name;
  if (const char* update = std::getenv("RAILGAUGE_UPDATE_GOLDEN"); update && *update == '1')
    std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(golden.str(), text) << path << " differs; RAILGAUGE_UPDATE_GOLDEN=1 writes it";
}

// Runs command lines against the fake controller inside this process.
class Commands : public testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.RegisterService(&control_);
    builder.RegisterService(&archive_);
    builder.RegisterService(&judge_);
    server_ = builder.BuildAndStart();
    stub_ = Control::NewStub(server_->InProcessChannel({}));
    archive_stub_ = Archive::NewStub(server_->InProcessChannel({}));
    judge_stub_ = Judge::NewStub(server_->InProcessChannel({}));
  }
  void TearDown() override { server_->Shutdown(std::chrono::system_clock::now()); }

  // The exit code; what was printed is in out_ and err_.
  int run(const std::vector<std::string>& words, Format format = Format::kTable,
          bool colour = false) {
    std::ostringstream out;
    std::ostringstream err;
    const Output output{
        .out = out, .err = err, .format = format, .units = units_, .colour = colour};
    const auto arguments = parse_arguments(grammar(), words);
    EXPECT_TRUE(arguments) << arguments.error().message;
    if (!arguments) return -1;
    Session session{.control = *stub_,
                    .output = output,
                    .interrupts = interrupts_,
                    .address = "unix:/test",
                    .connected = [this] { return connected_; },
                    .again = "railgauge --controller unix:/test",
                    .linger_seconds = linger_seconds_,
                    .cancel_seconds = cancel_seconds_,
                    .reconnect_seconds = reconnect_seconds_,
                    .archive = archive_stub_.get(),
                    .judge = judge_stub_.get()};
    const auto code = arguments->verb->run(session, *arguments);
    const int exit_code = code ? *code : report_error(output, code.error());
    out_ = out.str();
    err_ = err.str();
    return exit_code;
  }

  FakeControl control_;
  FakeArchive archive_;
  FakeJudge judge_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Control::Stub> stub_;
  std::unique_ptr<Archive::Stub> archive_stub_;
  std::unique_ptr<Judge::Stub> judge_stub_;
  Interrupts interrupts_;
  Units units_ = Units::kBoth;
  bool connected_ = false;
  double linger_seconds_ = 0.05;
  double cancel_seconds_ = 10;
  double reconnect_seconds_ = 10;
  std::string out_;
  std::string err_;
};

}  // namespace railgauge::cli
