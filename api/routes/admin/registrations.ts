/** Registrations of strangers: their list, the decisions of operators, and blocks. */
import type { Database } from '../../../db/database.ts';
import {
  findRegistrationBlock,
  listRegistrationBlocks as findBlocks,
  type RegistrationBlock,
} from '../../../db/queries/registration-blocks.ts';
import {
  findListedRegistration,
  type ListedRegistration,
  listRegistrations as findRegistrations,
} from '../../../db/queries/registration-lists.ts';
import { boolean, exactly, idOf, object } from '../../../domain/json-schema.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { REGISTRATION_STATES } from '../../../domain/registration.ts';
import { SIGNUP_CREDIT_OUTCOMES } from '../../../domain/signup-credit.ts';
import {
  blockRegistrationSchema,
  operatorActionSchema,
  rejectRegistrationSchema,
} from '../../../services/input/admin.ts';
import { authorshipOf } from '../../../services/people/administrator.ts';
import { blockRegistrations, liftBlock } from '../../../services/people/registration-blocks.ts';
import {
  approveRegistration as approve,
  rejectRegistration as reject,
} from '../../../services/people/registration-decisions.ts';
import { REGISTRATION, REGISTRATION_BLOCK } from '../../../services/resources/registrations.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { choiceParameter, flagParameter, PERIOD, textParameter } from '../../endpoint/query.ts';

export const registrationEndpoints = endpoints('Administration', {
  listRegistrations: endpoint({
    request: 'GET /admin/v1/registrations',
    access: 'admin-read',
    summary: 'List registrations, newest first',
    description: 'A registration without an account is removed after 30 days.',
    query: {
      state: choiceParameter(REGISTRATION_STATES, 'Filters by state'),
      signup_credit: choiceParameter(SIGNUP_CREDIT_OUTCOMES, 'Filters by the decision about signup credit'),
      source: textParameter('Filters by source: `password`, or the name of a provider'),
      ...PERIOD,
      ...pageById('registration'),
    },
    answers: { 200: pageOf(REGISTRATION.schema, 'A page of registrations') },
    handle: ({ query: { signup_credit: signupCredit, ...query } }, { reports }) =>
      listPage(
        query,
        (slice) => findRegistrations(reports, { ...query, signupCredit, ...slice }),
        REGISTRATION.present,
      ),
  }),
  approveRegistration: endpoint({
    request: 'POST /admin/v1/registrations/{registration_id}/approve',
    access: 'admin',
    summary: 'Approve a registration that waits',
    description:
      'Creates the user and the account, with signup credit within its limits. If a user has the address meanwhile, the registration is refused.',
    body: jsonBody('ApproveRegistration', operatorActionSchema),
    answers: { 200: dataOf(REGISTRATION.schema, 'The registration') },
    handle: async ({ params: { registration_id: id }, caller, body }, services) => {
      await approve(services, id, authorshipOf(caller, body));
      return { data: REGISTRATION.present(await existing(services.database, id)) };
    },
  }),
  rejectRegistration: endpoint({
    request: 'POST /admin/v1/registrations/{registration_id}/reject',
    access: 'admin',
    summary: 'Reject a registration that waits',
    description: 'An e-mail informs the person.',
    body: jsonBody('RejectRegistration', rejectRegistrationSchema),
    answers: { 200: dataOf(REGISTRATION.schema, 'The registration') },
    handle: async ({ params: { registration_id: id }, caller, body }, { database }) => {
      await reject(database, id, { ...authorshipOf(caller, body), message: body.message ?? '' });
      return { data: REGISTRATION.present(await existing(database, id)) };
    },
  }),
  blockRegistrations: endpoint({
    request: 'POST /admin/v1/registration-blocks',
    access: 'admin',
    summary: 'Block a mailbox, a domain or a network from registering',
    description: 'Users who have registered already stay.',
    body: jsonBody('BlockRegistrations', blockRegistrationSchema),
    answers: { 201: dataOf(REGISTRATION_BLOCK.schema, 'The block') },
    handle: async ({ caller, body }, { database }) => {
      const request = { kind: body.block_kind, value: body.value };
      const id = await blockRegistrations(database, request, authorshipOf(caller, body));
      return { data: REGISTRATION_BLOCK.present(await existingBlock(database, id)) };
    },
  }),
  listRegistrationBlocks: endpoint({
    request: 'GET /admin/v1/registration-blocks',
    access: 'admin-read',
    summary: 'List the blocks in force or the lifted blocks, newest first',
    query: {
      lifted: flagParameter('True: lifted blocks. By default, blocks in force'),
      ...pageById('registrationBlock'),
    },
    answers: { 200: pageOf(REGISTRATION_BLOCK.schema, 'A page of blocks') },
    handle: ({ query }, { database }) =>
      listPage(
        query,
        (slice) => findBlocks(database, { isLifted: query.lifted, ...slice }),
        REGISTRATION_BLOCK.present,
      ),
  }),
  liftRegistrationBlock: endpoint({
    request: 'DELETE /admin/v1/registration-blocks/{registration_block_id}',
    access: 'admin',
    summary: 'Lift a block',
    answers: {
      200: dataOf(
        object({ id: idOf('registrationBlock'), object: exactly('registration_block'), lifted: boolean() }),
        'The lifted block',
      ),
    },
    handle: async ({ params: { registration_block_id: id }, caller }, { database }) => {
      await liftBlock(database, id, authorshipOf(caller, {}));
      return { data: { id, object: 'registration_block', lifted: true } };
    },
  }),
});

async function existing(database: Database, id: string): Promise<ListedRegistration> {
  const registration = await findListedRegistration(database, id);
  if (!registration) throw notFoundError('registration');
  return registration;
}

async function existingBlock(database: Database, id: string): Promise<RegistrationBlock> {
  const block = await findRegistrationBlock(database, id);
  if (!block) throw notFoundError('registrationBlock');
  return block;
}
