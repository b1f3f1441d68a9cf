/** The commands that show what was sold and what it cost. */
import type { Command } from 'commander';
import {
  type Administration,
  exportOptions,
  LIST_FILTERS,
  listOptions,
  type Options,
  PERIOD_FILTERS,
  periodOptions,
  query,
} from './administration.ts';

const MARGIN_COLUMNS = [
  'model',
  'upstream',
  'upstream_model',
  'succeeded',
  'failed',
  'without_cost',
  'revenue_usd',
  'cost_usd',
  'failed_cost_usd',
  'possible_loss_usd',
  'margin_usd',
];
const RENDER_COLUMNS = [
  'created_at',
  'task_id',
  'model',
  'status',
  'upstream',
  'upstream_model',
  'job_id',
  'revenue_usd',
  'cost_usd',
  'possible_loss_usd',
  'margin_usd',
];

export function addMarginCommands(program: Command, admin: Administration): void {
  exportOptions(periodOptions(program.command('margins')))
    .description('show revenue, cost and margin by model and upstream (default: the last 30 days)')
    .action(async (options: Options) =>
      admin.exportOrList(`/margins${query(options, PERIOD_FILTERS)}`, options, MARGIN_COLUMNS),
    );
  exportOptions(listOptions(program.command('renders')))
    .description('list media tasks that have ended with their revenue and cost, newest first')
    .option('--model <model>', 'only of this model')
    .option('--upstream <name>', 'only by this upstream')
    .option('--status <status>', 'only with this status: succeeded or failed')
    .action(async (options: Options) => {
      const filters = { ...LIST_FILTERS, model: 'model', upstream: 'upstream', status: 'status' };
      await admin.exportOrList(`/renders${query(options, filters)}`, options, RENDER_COLUMNS);
    });
}
