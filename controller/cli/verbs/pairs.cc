// runs matrix, runs suspects
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/compared_figures.h"
#include "controller/cli/render/heat_map.h"
#include "controller/cli/render/report.pb.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr double kReadSeconds = 300;      // millions of points are read and looked through
constexpr std::size_t kLinesOfRuns = 12;  // below a heat map

// The filters of stored points, as far as pairs have them.
Result<PairsRequest> pairs_request(const Arguments& arguments) {
  const PointsRequest points = RG_TRY(points_request(arguments));
  PairsRequest request;
  request.set_run_id(points.run_id());
  request.set_kernel(points.kernel());
  request.set_metric(points.metric());
  if (points.has_message_bytes()) request.set_message_bytes(points.message_bytes());
  if (points.has_rail()) request.set_rail(points.rail());
  request.set_memory(arguments.value("memory"));
  request.set_node_set(points.node_set());
  request.set_runs(RG_TRY(count_of(arguments, "runs", 0)));
  return request;
}

// Names the figure that a matrix or a list of suspects is about.
template <class Answer>
std::string series_words(const Answer& answer) {
  return fmt::format(
      "{} {}{}{}, {}", answer.kernel(), answer.metric(), answer.meaning().empty() ? "" : " ",
      answer.meaning(),
      answer.message_bytes() > 0 ? format_bytes(answer.message_bytes()) : "any size");
}

// Memory and rail first, as in tables of points.
std::string title_of(const PairMatrix& matrix) {
  if (matrix.between_gpus())
    return fmt::format("copied by {}: {}, {} GPUs, run {}{}", matrix.memory(), series_words(matrix),
                       matrix.nodes_size(), matrix.run_id(),
                       matrix.synthetic() ? ", SYNTHETIC" : "");
  return fmt::format("memory {}, rail {}: {}, {} nodes, run {}{}",
                     matrix.memory().empty() ? "not told" : matrix.memory(), matrix.rail(),
                     series_words(matrix), matrix.nodes_size(), matrix.run_id(),
                     matrix.synthetic() ? ", SYNTHETIC" : "");
}

// The close is tested too: a full disk shows there.
Status write_svg(const std::string& path, const std::string& svg) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << svg;
  file.close();
  if (file) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--svg {}: write: {}", path, std::strerror(errno)));
}

// The run of a cell of a matrix of several runs.
const MatrixRun& run_of(const PairMatrix& matrix, std::size_t cell) {
  return matrix.runs(static_cast<int>(matrix.run_of(static_cast<int>(cell))));
}

// How much of a matrix of several runs each of them gave.
std::string runs_table(const PairMatrix& matrix, bool colour) {
  std::vector<std::size_t> cells(static_cast<std::size_t>(matrix.runs_size()));
  for (int cell = 0; cell < matrix.values_size(); ++cell)
    if (matrix.values(cell) > 0) ++cells[matrix.run_of(cell)];
  Rows rows;
  for (int run = 0; run < matrix.runs_size(); ++run)
    rows.push_back({matrix.runs(run).run_id(), matrix.runs(run).ended_at(),
                    fmt::format("{:.1f}", matrix.runs(run).age_days()),
                    cells[static_cast<std::size_t>(run)]});
  return render_short_section("RUN|ENDED|AGE days>|PAIRS>", rows, colour, {.lines = kLinesOfRuns});
}

// One row for each ordered pair, also for pairs without a figure.
MatrixReport report_of(const PairMatrix& matrix, const HeatGrid& grid) {
  MatrixReport report;
  report.set_schema_version(matrix.schema_version());
  report.set_run_id(matrix.run_id());
  report.set_kernel(matrix.kernel());
  report.set_metric(matrix.metric());
  report.set_meaning(matrix.meaning());
  report.set_unit(matrix.unit());
  report.set_message_bytes(matrix.message_bytes());
  report.set_rail(matrix.rail());
  report.set_memory(matrix.memory());
  report.set_synthetic(matrix.synthetic());
  *report.mutable_other_layers() = matrix.other_layers();
  *report.mutable_other_series() = matrix.other_series();
  *report.mutable_runs() = matrix.runs();
  std::map<std::string, std::size_t> place;  // the grid has another order
  for (const std::string& node : matrix.nodes()) place.emplace(node, place.size());
  const std::size_t n = grid.nodes.size();
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t to = 0; to < n; ++to) {
      if (from == to) continue;
      PairCell& cell = *report.add_pairs();
      cell.set_from(grid.nodes[from]);
      cell.set_to(grid.nodes[to]);
      cell.set_rail(matrix.rail());
      cell.set_memory(matrix.memory());
      const double value = grid.values[from * n + to];
      const double expected = grid.expected[from * n + to];
      if (value > 0) cell.set_value(value);
      if (value > 0 && matrix.runs_size() > 0) {
        const std::size_t at = place.at(grid.nodes[from]) * n + place.at(grid.nodes[to]);
        const MatrixRun& run = run_of(matrix, at);
        cell.set_run_id(run.run_id());
        cell.set_age_days(run.age_days());
      }
      if (expected > 0) cell.set_expected(expected);
      if (value > 0 && expected > 0) cell.set_of_expected(value / expected);
    }
  return report;
}

template <class Words>
void print_others(const Output& output, const char* flags, const Words& others) {
  if (others.empty()) return;
  print_notice(output, fmt::format("there is also {}; {} choose", fmt::join(others, ", "), flags));
}

}  // namespace

Result<int> show_matrix(Session& session, const Arguments& arguments) {
  const PairsRequest request = RG_TRY(pairs_request(arguments));
  return print_matrix(session.output, arguments,
                      RG_TRY(call(session, rpc::kGetMatrix, request, kReadSeconds)));
}

// The picture is written before anything is printed, so that a failure prints no matrix.
Result<int> print_matrix(const Output& output, const Arguments& arguments,
                         const PairMatrix& matrix) {
  const std::size_t nodes = static_cast<std::size_t>(matrix.nodes_size());
  const auto is_unknown_run = [&](std::uint32_t run) {
    return run >= static_cast<std::uint32_t>(matrix.runs_size());
  };
  // A matrix of another size would be read beyond its end.
  if (static_cast<std::size_t>(matrix.values_size()) != nodes * nodes ||
      (matrix.runs_size() > 0 && matrix.run_of_size() != matrix.values_size()) ||
      std::ranges::any_of(matrix.run_of(), is_unknown_run))
    return fail(Code::kDataLoss, fmt::format("run {}: the matrix does not fit its {} nodes",
                                             matrix.run_id(), nodes));
  const HeatGrid grid = grid_of(matrix);
  if (arguments.has("svg"))
    RG_TRY_OK(write_svg(arguments.value("svg"), heat_svg(grid, title_of(matrix))));
  if (output.format != Format::kTable) {
    print_document(output, report_of(matrix, grid), "pairs");
    return kExitPassed;
  }
  // The flags choose among layers and series that the run has as well.
  print_others(output, "--rail and --memory", matrix.other_layers());
  print_others(output, "--kernel, --metric and --size", matrix.other_series());
  std::string title = wrapped_line(title_of(matrix));
  title.pop_back();  // the newline stays without colour
  output.out << toned(title, Tone::kHeading, output.colour) << '\n'
             << heat_text(grid, output.colour);
  if (matrix.runs_size() > 0) output.out << runs_table(matrix, output.colour);
  return kExitPassed;
}

namespace {

constexpr std::size_t kIndent = 4;        // of the further lines of a sentence
constexpr std::size_t kMostEvidence = 4;  // rows of a suspect
constexpr std::int64_t kMostLines = 58;

// A suspect that was neither confirmed nor cleared has to be measured again.
std::string suspect_state(const Suspect& suspect) {
  if (suspect.confirmed()) return "confirmed";
  return suspect.retest_answer() == "cleared" ? "cleared" : "measure again";
}

// The pairs that speak against the suspect, with the expected figure beside the measured one.
std::string evidence_table(const SuspectList& list, const Suspect& suspect, bool colour) {
  Rows rows = rows_of(suspect.evidence(), [&](const SuspectEvidence& each) {
    return Row({each.from(), each.to(), each.rail(), each.memory(),
                value_text(each.expected(), list.unit()), value_text(each.seen(), list.unit()),
                format_share(each.expected() > 0 ? each.seen() / each.expected() : 0)});
  });
  const std::size_t left = rows.size() > kMostEvidence ? rows.size() - kMostEvidence : 0;
  rows.resize(rows.size() - left);
  const char* heads = list.between_gpus() ? "FROM|TO|COPIED BY|EXPECTED>|SEEN>|OF EXPECTED>"
                                          : "FROM|TO|RAIL>|MEMORY|EXPECTED>|SEEN>|OF EXPECTED>";
  if (list.between_gpus())
    for (auto& row : rows) row.erase(row.begin() + 2);
  return render_table(heads, rows, colour) +
         (left > 0 ? fmt::format("and {} more figures of it\n", left) : "");
}

// States how much of the fabric was measured, since missing pairs hide faults.
std::string heading_of(const SuspectList& list) {
  std::string text = fmt::format(
      "{}, {} {}, run {}: {} of {} figures of pairs, noise {}", series_words(list), list.nodes(),
      list.between_gpus() ? "GPUs" : "nodes", list.run_id(), format_count(list.measured_pairs()),
      format_count(list.possible_pairs()), format_share(list.noise_share()));
  if (list.leaves() == 0) text += "; no leaf is known, so no leaf, trunk or spine can be named";
  if (list.synthetic()) text += "; SYNTHETIC";
  return text;
}

// One suspect: its sentence, some of its evidence, and what is left to measure.
std::string suspect_text(const SuspectList& list, const Suspect& suspect, bool colour) {
  std::string text = wrapped_line(
      fmt::format("{}. {}: {}", suspect.place(), suspect_state(suspect), suspect.sentence()),
      kIndent);
  // Coloured after it was wrapped: escapes take no room.
  const std::string head = fmt::format("{}. {}", suspect.place(), suspect_state(suspect));
  text = toned(head, suspect.confirmed() ? Tone::kBad : Tone::kDoubtful, colour) +
         text.substr(head.size());
  text += evidence_table(list, suspect, colour);
  if (!suspect.retest().empty())
    text += wrapped_line("measured again: " + suspect.retest(), kIndent);
  if (suspect.wanted_size() > 0)
    text += wrapped_line(
        fmt::format("to measure next: {} tasks with known-good partners (--format json lists them)",
                    suspect.wanted_size()),
        kIndent);
  return text;
}

// In the order of the controller, which numbers the places; as many as fit a screen.
void print_suspects(const Output& output, const SuspectList& list) {
  std::string text = wrapped_line(heading_of(list), kIndent);
  text.pop_back();  // the newline stays without colour
  text = toned(text, Tone::kHeading, output.colour) + "\n";
  if (!list.unmeasured_nodes().empty())
    text += wrapped_line(
        "no data: " + fold_names(std::vector<std::string>(list.unmeasured_nodes().begin(),
                                                          list.unmeasured_nodes().end())),
        kIndent);
  if (list.suspects().empty()) text += "no suspect\n";
  for (int i = 0; i < list.suspects_size(); ++i) {
    const std::string one = "\n" + suspect_text(list, list.suspects(i), output.colour);
    const auto lines = std::ranges::count(text, '\n') + std::ranges::count(one, '\n');
    if (i > 0 && lines > kMostLines && tables_are_cut()) {
      text += fmt::format("\nand {} more suspects; --full shows them\n", list.suspects_size() - i);
      break;
    }
    text += one;
  }
  output.out << text;
}

}  // namespace

// 1 with a confirmed suspect, 3 while something is open or nodes have no data, else 0.
Result<int> show_suspects(Session& session, const Arguments& arguments) {
  const PairsRequest request = RG_TRY(pairs_request(arguments));
  const auto list = RG_TRY(call(session, rpc::kGetSuspects, request, kReadSeconds));
  const Output& output = session.output;
  if (!print_document(output, list, "suspects")) {
    print_others(output, "--kernel, --metric and --size", list.other_series());
    print_suspects(output, list);
  }
  bool confirmed = false;
  for (const Suspect& suspect : list.suspects()) confirmed = confirmed || suspect.confirmed();
  if (confirmed) return kExitFailed;
  return list.suspects().empty() && list.unmeasured_nodes().empty() ? kExitPassed
                                                                    : kExitInconclusive;
}

}  // namespace railgauge::cli
