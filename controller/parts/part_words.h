// Words for operators about slow parts. Pure.
#pragma once

#include "controller/parts/judge.h"
#include "controller/parts/tables.h"

namespace railgauge::parts {

// Sets the parts that are ruled out and the sentence of a finding.
void add_words(const Tables& tables, PartFinding& finding);

}  // namespace railgauge::parts
