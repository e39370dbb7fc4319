// Facts that certificates of runs and of upgrades share. Internal to this room.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/certificate/certificate.pb.h"
#include "controller/fleet/leaf_map.h"
#include "controller/store/store.h"

namespace railgauge::certificate {

// Names of nodes that reach a certificate folded.
std::string folded(const std::vector<std::string>& names);

// Adds the tasks of a run: those that passed, and the others by reason. kNotFound: no such run.
Status add_tasks(const store::Store& store, const std::string& run_id, Certificate& out);

// Sets the digest of the suite's text.
Status add_suite(const store::Store& store, const std::string& run_id, Certificate& out);

// Sets whether the database is of a modelled fabric.
Status add_data_kind(const store::Store& store, Certificate& out);

// Adds the nodes by their stacks, which are keys of the store; 0: not known. `before`: those of an
// upgrade's before side by node; empty: there is no such side.
Status add_stacks(const store::Store& store, const std::map<std::string, std::int64_t>& stacks,
                  const std::map<std::string, std::int64_t>& before, Certificate& out);

// Adds the proof of a run that `railgauge prove` started, its verdict and its limits. `leaves`: as
// for judge_run(). Errors: those of proof_of_run().
Status add_proof(const store::Store& store, const std::string& run_id, const LeafSource& leaves,
                 Certificate& out);

// A percentage with as many digits as a reader needs, so that its text is the same everywhere.
double percent_of(double share);

}  // namespace railgauge::certificate
