// Text of verdicts and findings: one upgrade on one screen, and parts that both pages use. Pure.
#pragma once

#include <string>

#include <google/protobuf/repeated_field.h>

#include "controller/api/judge.pb.h"
#include "controller/cli/render/output.h"

namespace railgauge::cli {

// The page of an upgrade: verdict, metrics, places, suspected causes, excluded causes, notes and
// next steps.
std::string upgrade_text(const api::Upgrade& upgrade, bool colour);

// The exit code of a verdict: 0 pass, 1 regressed, 3 inconclusive, 4 without a verdict.
int exit_code_of_verdict(const api::Upgrade& upgrade);

// Renders levels before and after as bars of one scale, separated by '|'; "" without levels.
std::string sparkline(const google::protobuf::RepeatedField<double>& before,
                      const google::protobuf::RepeatedField<double>& after);

// Renders the heading and each line below it; "" without lines.
std::string headed_lines(const std::string& heading,
                         const google::protobuf::RepeatedPtrField<std::string>& lines);

}  // namespace railgauge::cli
