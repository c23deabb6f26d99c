// SPDX-License-Identifier: Apache-2.0
// Pictures of virtual runs: what is drawn; how is in svg_*.h. Pure.
#ifndef SGPRS_TOOLS_SGPRS_SIM_PLOTS_H_
#define SGPRS_TOOLS_SGPRS_SIM_PLOTS_H_

#include <string>
#include <vector>

#include "tools/sgprs/sim_series.h"
#include "tools/sgprs/svg_bars.h"
#include "tools/sgprs/svg_curves.h"
#include "tools/sgprs/svg_gantt.h"

namespace sgprs::cli {

// One row of panels: completed FPS, on-time FPS and miss % against N.
struct PlotRow {
  std::string title;
  struct Line {
    std::string name;  // lines of one name have one colour
    const SimSeries* series;
  };
  std::vector<Line> lines;
};

// With `published`, the paper's curves stand beside ours where a pool has one.
CurveFigure RowsFigure(const std::string& title, const std::string& conditions,
                       const std::vector<PlotRow>& rows, bool published);

// A row a pool.
CurveFigure SweepFigure(const std::string& title, const std::vector<SimSeries>& series,
                        bool published);

// For a single N: a bar a series.
RateFigure PointFigure(const std::string& title, const std::vector<SimSeries>& series);

// A window of a run that kept its jobs and stages; times on the run's own clock.
Gantt RunGantt(const model::SimResult& run, uint64_t from_ns, uint64_t to_ns);

// The colour of "naive" and "sgprs" is the same in all pictures; `next` is for others.
size_t ColourOf(const std::string& name, size_t next);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIM_PLOTS_H_
