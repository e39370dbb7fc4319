// The runner as a person uses it: two real processes over loopback, or one alone.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "kernels/core/base/outcome.h"
#include "kernels/runner/testing/process.h"

namespace railgauge {
namespace {

using testing_process::Ended;
using testing_process::Process;
using testing_process::program;
using Words = std::vector<std::string>;

Words command(const Words& words) {
  Words out{program("railgauge-runner-testing")};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

Ended run(const Words& words) { return Process(command(words)).wait(); }

RunnerReport parse_report(const std::string& text) {
  RunnerReport report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text, &report).ok()) << text;
  return report;
}

bool is_one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

// A listener on a port that the system chose.
class Listener {
 public:
  explicit Listener(Words words)
      : process_(command(with_listen(std::move(words)))), address_(process_.listening_address()) {}
  [[nodiscard]] const std::string& address() const { return address_; }
  Process& process() { return process_; }

 private:
  static Words with_listen(Words words) {
    words.insert(words.end(), {"--listen", "127.0.0.1:0"});
    return words;
  }
  Process process_;
  const std::string address_;
};

struct Pair {
  Ended connecting;
  Ended listening;
};

Pair run_pair(Words connecting, const Words& listening) {
  Listener listener(listening);
  connecting.insert(connecting.end(), {"--connect", listener.address()});
  Ended first = run(connecting);
  return {std::move(first), listener.process().wait()};
}

TEST(TwoTerminals, TheConnectingSidePrintsTheTableAndTheListenerOneLine) {
  const Pair pair = run_pair({"test.bandwidth", "--sizes", "64KiB,1MiB"}, {"test.bandwidth"});
  EXPECT_EQ(pair.connecting.exit_code, kExitPassed) << pair.connecting.err;
  EXPECT_EQ(pair.listening.exit_code, kExitPassed);
  const std::string& table = pair.connecting.out;
  EXPECT_TRUE(table.starts_with("test.bandwidth  memory host")) << table;
  EXPECT_NE(table.find("\nSYNTHETIC: "), std::string::npos) << table;
  EXPECT_NE(table.find("line rate 100.0 Gb/s"), std::string::npos) << table;
  EXPECT_NE(table.find("\n64 KiB  "), std::string::npos) << table;
  EXPECT_EQ(pair.connecting.err, "");
  EXPECT_EQ(pair.listening.out, "");
  const std::string after_first = pair.listening.err.substr(pair.listening.err.find('\n') + 1);
  EXPECT_TRUE(is_one_line(after_first)) << after_first;
  EXPECT_NE(after_first.find(": passed\n"), std::string::npos) << after_first;
}

TEST(TwoTerminals, EitherSidesRefusalIsBothSidesOutcomeWithItsReason) {
  const Pair pair =
      run_pair({"test.latency", "--format", "json"}, {"test.latency", "-d", "prepare_waive"});
  EXPECT_EQ(pair.connecting.exit_code, kExitWaived);
  EXPECT_EQ(pair.listening.exit_code, kExitWaived);
  EXPECT_TRUE(pair.connecting.out.starts_with("{\n  \"schema_version\": 1,"))
      << pair.connecting.out;
  const RunnerReport report = parse_report(pair.connecting.out);
  EXPECT_EQ(report.outcome(), kWaived);
  EXPECT_EQ(report.reason(), "rank 1: device none0: not found");
}

TEST(TwoTerminals, WrongBytesAtTheTargetFailTheInitiatorToo) {
  const Pair pair =
      run_pair({"test.latency", "--sizes", "8"}, {"test.latency", "-d", "measure_corrupt"});
  EXPECT_EQ(pair.connecting.exit_code, kExitFailed);
  EXPECT_EQ(pair.listening.exit_code, kExitFailed);
  EXPECT_NE(pair.connecting.out.find("NOT PASSED (failed)"), std::string::npos);
  EXPECT_EQ(pair.connecting.err,
            "railgauge-runner: test.latency: failed: rank 1: byte 17 is 0x00; 0x2a was written\n");
}

TEST(TwoTerminals, ParametersOrKernelsThatDifferAreWrongUseOnBothSides) {
  const Pair differ =
      run_pair({"test.latency", "--set", "sizes=8"}, {"test.latency", "--set", "sizes=64KiB"});
  EXPECT_EQ(differ.connecting.exit_code, kExitUsage);
  EXPECT_EQ(differ.listening.exit_code, kExitUsage);
  EXPECT_EQ(differ.connecting.err,
            "railgauge-runner: test.latency: parameter sizes: the listener was given 64KiB, the "
            "connecting side 8\n");
  const Pair other = run_pair({"test.latency"}, {"test.bandwidth"});
  EXPECT_EQ(other.connecting.exit_code, kExitUsage);
  EXPECT_EQ(other.listening.exit_code, kExitUsage);
}

TEST(TwoTerminals, ACrashOfOneSideEndsBothAndNamesTheSignal) {
  const Pair pair =
      run_pair({"test.latency", "--seconds", "0.2"}, {"test.latency", "-d", "connect_kill"});
  EXPECT_EQ(pair.connecting.exit_code, kExitInvalid);
  EXPECT_EQ(pair.listening.exit_code, kExitInvalid);
  EXPECT_NE(pair.listening.err.find("signal 9 (SIGKILL)"), std::string::npos) << pair.listening.err;
  EXPECT_NE(pair.connecting.err.find("closed the connection"), std::string::npos)
      << pair.connecting.err;
}

TEST(TwoTerminals, CtrlCExits130WithADocumentAndThePeerEndsAsWell) {
  Listener listener({"test.latency"});
  Process connecting(command({"test.latency", "--format", "json", "--act", "measure_hang",
                              "--connect", listener.address()}));
  // The listener hangs too: both are in the middle of measuring.
  ASSERT_TRUE(listener.process().wait_for_stderr("hanging"));
  connecting.signal(SIGINT);
  const Ended ended = connecting.wait();
  EXPECT_EQ(ended.exit_code, kExitInterrupted);
  EXPECT_EQ(parse_report(ended.out).outcome(), kCancelledOutcome);
  listener.process().signal(SIGTERM);
  EXPECT_EQ(listener.process().wait().exit_code, kExitTerminated);
}

TEST(TwoTerminals, ThePeerLearnsAtOnceThatTheOtherTerminalIsGone) {
  Listener listener({"test.latency"});
  Process connecting(
      command({"test.latency", "-d", "measure_hang", "--connect", listener.address()}));
  ASSERT_TRUE(connecting.wait_for_stderr("hanging"));
  connecting.signal(SIGTERM);
  EXPECT_EQ(connecting.wait().exit_code, kExitTerminated);
  const Ended listening = listener.process().wait();
  EXPECT_EQ(listening.exit_code, kExitInvalid);
  EXPECT_NE(listening.err.find("closed the connection"), std::string::npos) << listening.err;
}

TEST(TwoTerminals, WithKeepTheListenerServesRunAfterRunEvenAfterACrash) {
  Listener listener({"test.latency", "--keep"});
  const Words connect{"test.latency", "--connect", listener.address()};
  EXPECT_EQ(run(connect).exit_code, kExitPassed);
  Words crash = connect;
  crash.insert(crash.end(), {"--act", "measure_kill"});
  EXPECT_EQ(run(crash).exit_code, kExitInvalid);
  EXPECT_EQ(run(connect).exit_code, kExitPassed);
  listener.process().signal(SIGTERM);
  const Ended ended = listener.process().wait();
  EXPECT_EQ(ended.exit_code, kExitTerminated);
  EXPECT_NE(ended.err.find("SIGKILL"), std::string::npos) << ended.err;
}

TEST(TwoTerminals, NobodyListeningIsUnreachable) {
  const Ended ended =
      run({"test.latency", "--connect", "127.0.0.1:1", "--deadline", "300ms", "--format", "json"});
  EXPECT_EQ(ended.exit_code, kExitInvalid);
  EXPECT_NE(parse_report(ended.out).reason().find("127.0.0.1:1"), std::string::npos) << ended.out;
}

TEST(TwoTerminals, ListenAndConnectMeetOnTheDefaultPort) {
  for (const Words& words : {Words{"127.0.0.1"}, Words{"127.0.0.1:7479"}}) {
    Words listen{"test.latency", "--listen"};
    listen.insert(listen.end(), words.begin(), words.end());
    Process listener(command(listen));
    EXPECT_EQ(listener.listening_address(), "127.0.0.1:7479");
    EXPECT_EQ(run({"test.latency", "--connect", "127.0.0.1"}).exit_code, kExitPassed);
    EXPECT_EQ(listener.wait().exit_code, kExitPassed);
  }
}

TEST(TwoTerminals, APortThatIsTakenIsSaidInOneLine) {
  Listener listener({"test.latency"});
  const Ended ended = run({"test.latency", "--listen", listener.address()});
  EXPECT_EQ(ended.exit_code, kExitInvalid);
  EXPECT_TRUE(is_one_line(ended.err)) << ended.err;
}

TEST(OneTerminal, ALocalKernelRunsAlone) {
  const Ended ended = run({"test.local", "--sizes", "8"});
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  EXPECT_NE(ended.out.find("\n 8 B  1,000  "), std::string::npos) << ended.out;
}

TEST(OneTerminal, ALibrarysExitCodeNeverEscapes) {
  const Ended ended = run({"test.local", "--act", "measure_exit", "--format", "json"});
  EXPECT_EQ(ended.exit_code, kExitInvalid);
  const RunnerReport report = parse_report(ended.out);
  EXPECT_EQ(report.outcome(), kCrashed);
  EXPECT_EQ(report.points_size(), 2) << "what was measured before is not lost";
  EXPECT_EQ(report.reason(), "the kernel's process exited with 0 before its final record");
}

TEST(OneTerminal, AHangEndsAfterTheDeadlineAsTimedOut) {
  const Ended ended =
      run({"test.local", "--act", "prepare_hang", "--deadline", "100ms", "--format", "json"});
  EXPECT_EQ(ended.exit_code, kExitInvalid);
  EXPECT_EQ(parse_report(ended.out).outcome(), kTimedOut);
}

TEST(OneTerminal, WhatLibrariesPrintStaysOutOfTheDocument) {
  const Ended ended = run({"test.local", "--act", "measure_print", "--format", "json"});
  EXPECT_EQ(parse_report(ended.out).outcome(), kPassed);
  EXPECT_EQ(ended.err, "a library prints here\n");
}

TEST(OneTerminal, EventsComeOneALineAndEndWithTheFinalOne) {
  const Ended ended = run({"test.local", "--format", "ndjson"});
  std::istringstream lines(ended.out);
  std::string line;
  std::vector<Record> records;
  while (std::getline(lines, line)) {
    ASSERT_TRUE(line.starts_with("{\"schema_version\":1,")) << line;
    Record record;
    google::protobuf::util::JsonParseOptions lenient;
    lenient.ignore_unknown_fields = true;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(line, &record, lenient).ok()) << line;
    records.push_back(record);
  }
  ASSERT_EQ(records.size(), 4u);
  EXPECT_TRUE(records.front().has_started());
  EXPECT_EQ(records.back().final().outcome(), kPassed);
}

TEST(OneTerminal, AFileTakesTheDocumentWhileTheTerminalShowsTheTable) {
  const std::string folder = testing::TempDir() + "railgauge-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/out.json";
  const Ended ended = run({"test.local", "-o", path});
  EXPECT_TRUE(ended.out.starts_with("test.local  ")) << ended.out;
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(parse_report(text.str()).points_size(), 2);
  EXPECT_EQ(run({"test.local", "-o", folder + "/none/out.json"}).exit_code, kExitInvalid);
  std::filesystem::remove_all(folder);
}

TEST(OneTerminal, RawSamplesStandInTheDocumentWhereAskedFor) {
  const Ended ended = run({"test.local", "--format", "json", "--raw-samples", "--sizes", "8"});
  EXPECT_EQ(parse_report(ended.out).points(0).samples_size(), 1000);
}

struct WrongUse {
  Words words;
  std::string says;
};

TEST(CommandLine, WrongUseIsOneLineThatSaysWhatIsAllowedAndExits2) {
  const std::vector<WrongUse> cases{
      {{}, "no kernel named"},
      {{"test.lateny"}, "did you mean \"test.latency\"?"},
      {{"--describe", "test.lcal"}, "did you mean \"test.local\"?"},
      {{"test.local", "--fromat", "json"}, "did you mean \"--format\"?"},
      {{"test.local", "--secnds", "1"}, "did you mean \"--seconds\"?"},
      {{"test.local", "--set", "secnds=1"}, "did you mean \"seconds\"?"},
      {{"test.local", "--set", "seconds"}, "is not KEY=VALUE"},
      {{"test.local", "--seconds", "1", "--set", "seconds=1"}, "given twice"},
      {{"test.local", "--seconds", "61"}, "0 to 60 are allowed"},
      {{"test.local", "--format", "xml"}, "table, json, csv or ndjson"},
      {{"test.local", "--units", "nibbles"}, "bits or bytes"},
      {{"test.local", "--deadline", "5"}, "has no unit"},
      {{"test.local", "--deadline", "0s"}, "above 0"},
      {{"test.local", "--keep"}, "--keep: only with --listen"},
      {{"test.local", "--connect", "127.0.0.1"}, "runs alone"},
      {{"test.latency"}, "needs a peer"},
      {{"test.latency", "--listen", "0:0:x"}, "0:0:x"},
      {{"test.latency", "--listen", "127.0.0.1:0", "--connect", "127.0.0.1"}, "exclude each other"},
      {{"--list", "--format", "csv"}, "table or json"},
      {{"--task"}, "descriptor -1 is not open"},
  };
  for (const WrongUse& wrong : cases) {
    const Ended ended = run(wrong.words);
    SCOPED_TRACE(wrong.says);
    EXPECT_EQ(ended.exit_code, kExitUsage);
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(is_one_line(ended.err)) << ended.err;
    EXPECT_NE(ended.err.find(wrong.says), std::string::npos) << ended.err;
  }
}

TEST(CommandLine, ParametersAreFlagsInEveryForm) {
  const Ended ended = run({"test.local", "--relaxed-ordering", "--sizes=1:4", "--set",
                           "seconds=0.0", "--format", "json"});
  const auto parameters = parse_report(ended.out).started().parameters();
  EXPECT_EQ(parameters.at("relaxed_ordering"), "true");
  EXPECT_EQ(parameters.at("sizes"), "1:4");
  EXPECT_EQ(parameters.at("seconds"), "0");
  const Ended off = run({"test.local", "--relaxed-ordering", "false", "--format", "json"});
  EXPECT_EQ(parse_report(off.out).started().parameters().at("relaxed_ordering"), "false");
}

TEST(CommandLine, HelpAfterAKernelsNameShowsItsParameters) {
  const Ended ended = run({"test.latency", "--help"});
  EXPECT_EQ(ended.exit_code, kExitPassed);
  EXPECT_NE(ended.out.find("--relaxed-ordering"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("7479"), std::string::npos) << ended.out;
}

TEST(CommandLine, AVariableThatNobodyReadsIsReportedOnce) {
  ::setenv("RAILGAUGE_LIBNCL", "/opt/libnccl.so", 1);
  const Ended list = run({"--list"});
  const Ended probe = run({"--probe-ports", ""});
  ::unsetenv("RAILGAUGE_LIBNCL");
  EXPECT_EQ(list.exit_code, kExitPassed);
  EXPECT_EQ(list.err,
            "info: variable RAILGAUGE_LIBNCL: no program of Railgauge reads it; did you mean "
            "\"RAILGAUGE_LIBNCCL\"?\n");
  EXPECT_THAT(probe.err, testing::Not(testing::HasSubstr("LIBNCL"))) << "an agent's child";
}

TEST(CommandLine, PrintsVersionAndLists) {
  EXPECT_THAT(run({"--version"}).out,
              testing::MatchesRegex("railgauge-runner " RAILGAUGE_VERSION
                                    " \\(GPU code: driver 1.2 or later, commit [^ ]+\\)\n"));
  EXPECT_NE(run({"--list"}).out.find("test.latency"), std::string::npos);
  EXPECT_TRUE(run({"--list", "--format", "json"}).out.starts_with("{\n  \"schema_version\": 1,"));
  EXPECT_NE(run({"--describe", "test.local"}).out.find("sizes"), std::string::npos);
}

TEST(CommandLine, TheProgramLoadsNeitherGrpcNorSpdlog) {
  const Ended ended =
      Process({program("railgauge-runner")}, false, {"LD_TRACE_LOADED_OBJECTS=1"}).wait();
  EXPECT_NE(ended.out.find("libprotobuf"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("grpc"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("spdlog"), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace railgauge
