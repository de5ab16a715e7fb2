import { kernelsAreRight } from '../support/kernel-levels.ts';

kernelsAreRight('sm_75', 1);
