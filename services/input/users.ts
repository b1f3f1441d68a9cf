/** Request bodies of the calls about users. */
import Joi from 'joi';
import { ADMIN_ROLES, MEMBER_ROLES } from '../../domain/roles.ts';
import { EMAIL_ADDRESS, EMAIL_ADDRESS_LENGTH } from '../../domain/email-address.ts';
import { isId } from '../../domain/ids.ts';
import { bodySchema, choice, freeText, orNull, requiredField } from './validation.ts';

const userName = freeText({ min: 1, max: 100 }).description('The name of the user');
const staffRole = orNull(choice(ADMIN_ROLES)).description('The role as staff of the gateway. Null for customers');

const accountId = Joi.string()
  .custom((given: string, helpers) => (isId('account', given) ? given : helpers.error('id.refused')))
  .messages({ 'id.refused': '{{#label}} is not the id of an account' });

export const createUserSchema = bodySchema({
  email: requiredField(
    freeText(EMAIL_ADDRESS_LENGTH)
      .pattern(EMAIL_ADDRESS, 'email')
      .description('The e-mail address with which the user signs in')
      .messages({ 'string.pattern.name': '{{#label}} must be an e-mail address' }),
  ),
  name: requiredField(userName),
  staff_role: staffRole,
  account_id: accountId.description('An account of the user'),
  member_role: choice(MEMBER_ROLES).description('The role in that account. By default, `owner`'),
});

export const updateUserSchema = bodySchema({
  name: userName,
  staff_role: staffRole,
  disabled: Joi.boolean().description('Whether the user is disabled and cannot sign in'),
  second_factor: Joi.any<null>()
    .valid(null)
    .messages({ 'any.only': '{{#label}} can only be null: users add a second factor themselves' })
    .description('Null removes the second factor, for a user who lost the authenticator app'),
});

export const membershipSchema = bodySchema({
  account_id: requiredField(accountId.description('The `id` of an account')),
  role: requiredField(choice(MEMBER_ROLES).description('The role in the account')),
});
